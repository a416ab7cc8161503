#pragma once
// What Swift cannot call of libcurl itself: its variadic functions, one shim per argument type,
// and a union. Beside them the allocator that wipes what libcurl gives back.
#include <curl/curl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static inline CURLcode brewlog_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

// libcurl copies the text; NULL sets the option back.
static inline CURLcode brewlog_easy_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode brewlog_easy_set_size(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode brewlog_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode brewlog_easy_set_list(CURL *easy, CURLoption option,
                                             struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

typedef size_t (*brewlog_receive_function)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode brewlog_easy_set_receiver(CURL *easy, CURLoption option,
                                                 brewlog_receive_function function) {
  return curl_easy_setopt(easy, option, function);
}

typedef int (*brewlog_before_request_function)(void *context, char *peer, char *local,
                                               int peer_port, int local_port);

static inline CURLcode brewlog_easy_set_before_request(CURL *easy,
                                                       brewlog_before_request_function function) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

static inline long brewlog_easy_get_long(CURL *easy, CURLINFO info) {
  long value = 0;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static inline CURLMcode brewlog_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode brewlog_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode brewlog_multi_set_socket_function(CURLM *multi,
                                                          curl_socket_callback function) {
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
}

static inline CURLMcode brewlog_multi_set_timer_function(CURLM *multi,
                                                         curl_multi_timer_callback function) {
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
}

// The next transfer that has ended, or NULL. Its handle is still in the multi handle.
static inline CURL *brewlog_multi_next_ended(CURLM *multi, CURLcode *result) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    if (message->msg == CURLMSG_DONE) {
      *result = message->data.result;
      return message->easy_handle;
    }
  }
  return NULL;
}

// libcurl's memory holds request heads and bodies with tokens in them. It is wiped when freed.
static inline void brewlog_wiping_free(void *memory) {
  if (memory != NULL) {
    explicit_bzero(memory, malloc_usable_size(memory));
    free(memory);
  }
}

static inline void *brewlog_wiping_realloc(void *memory, size_t size) {
  if (memory == NULL) {
    return malloc(size);
  }
  size_t old = malloc_usable_size(memory);
  void *moved = malloc(size);
  if (moved != NULL) {
    memcpy(moved, memory, old < size ? old : size);
    brewlog_wiping_free(memory);
  }
  return moved;
}

static inline char *brewlog_strdup(const char *text) { return strdup(text); }
static inline void *brewlog_malloc(size_t size) { return malloc(size); }
static inline void *brewlog_calloc(size_t count, size_t size) { return calloc(count, size); }

// To be called once, before any other function of libcurl.
static inline CURLcode brewlog_curl_start(void) {
  return curl_global_init_mem(CURL_GLOBAL_DEFAULT, brewlog_malloc, brewlog_wiping_free,
                              brewlog_wiping_realloc, brewlog_strdup, brewlog_calloc);
}
