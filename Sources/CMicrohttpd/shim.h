// What libmicrohttpd has as variadic functions and cast macros, which Swift cannot call.
#pragma once
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>

typedef void *(*demo_uri_callback)(void *context, const char *uri,
                                   struct MHD_Connection *connection);

/// One polling thread (epoll) on 127.0.0.1; connections may be suspended. NULL: `errno` says why.
static inline struct MHD_Daemon *
demo_mhd_start(uint16_t port, unsigned connection_limit, void *context,
               MHD_AccessHandlerCallback handler, demo_uri_callback uri,
               MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback connection) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return MHD_start_daemon(
      MHD_USE_EPOLL_INTERNALLY | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL, handler, context,
      MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
      MHD_OPTION_CONNECTION_LIMIT, connection_limit,
      MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096u,
      MHD_OPTION_URI_LOG_CALLBACK, uri, context,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_NOTIFY_CONNECTION, connection, context,
      MHD_OPTION_END);
}

static inline uint16_t demo_mhd_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == NULL ? 0 : info->port;
}

static inline int demo_mhd_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

static inline uint64_t demo_mhd_unknown_size(void) { return MHD_SIZE_UNKNOWN; }
static inline ssize_t demo_mhd_end(void) { return MHD_CONTENT_READER_END_OF_STREAM; }
static inline ssize_t demo_mhd_cut(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }

static inline struct MHD_Response *demo_mhd_response(const void *bytes, size_t count) {
  return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

static inline void demo_mhd_headers(struct MHD_Connection *connection,
                                    MHD_KeyValueIterator iterator, void *context) {
  (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, iterator, context);
}

static inline int demo_mhd_started(enum MHD_ConnectionNotificationCode code) {
  return code == MHD_CONNECTION_NOTIFY_STARTED;
}
