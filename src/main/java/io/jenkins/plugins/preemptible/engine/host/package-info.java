/**
 * What this host tells: processes, memory, tools, TCP connections, and the C library's calls.
 *
 * <p>Anybody in the engine may use it. It reads /proc and calls libc, and knows nothing of stages. Without state, safe for
 * any thread; no call waits longer than the program that it runs. Tests beside it, without rights.
 */
package io.jenkins.plugins.preemptible.engine.host;
