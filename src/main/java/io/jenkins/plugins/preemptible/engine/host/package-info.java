/**
 * Access to this host: processes, memory, tools, TCP connections, and calls of the C library.
 *
 * <p>All packages of the engine may use it. It reads /proc and calls libc, and knows nothing of stages. Without state,
 * safe for any thread; no call waits longer than the program that it runs. Tests beside it, without rights.
 */
package io.jenkins.plugins.preemptible.engine.host;
