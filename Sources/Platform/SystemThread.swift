import Glibc

/// A thread that was started here, to be ended exactly once.
package struct SystemThread: Sendable {
  private let raw: UInt

  /// Nil where the system has no thread left.
  package static func start(_ body: @escaping @Sendable () -> Void) -> SystemThread? {
    final class Body {
      let run: @Sendable () -> Void
      init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    // The thread takes over the reference that is retained here.
    let context = Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { context in
        if let context {
          let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
          body.run()
        }
        return nil
      }, context.toOpaque())
    if code == 0 { return SystemThread(raw: UInt(thread)) }
    context.release()
    return nil
  }

  package var isCurrent: Bool {
    pthread_equal(pthread_t(raw), pthread_self()) != 0
  }

  /// Waits until the thread's body has returned; on the thread itself, lets it go instead.
  package func end() {
    if isCurrent {
      pthread_detach(pthread_t(raw))
    } else {
      pthread_join(pthread_t(raw), nil)
    }
  }

  /// Nobody will wait for it: it goes when its body has returned. Instead of `end()`.
  package func letGo() {
    pthread_detach(pthread_t(raw))
  }
}
