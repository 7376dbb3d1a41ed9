/**
 * Plain text: words that others wrote made safe to show, and scripts read from the resources.
 *
 * <p>All packages may use it, the plugin too; it depends on nothing. Without state, safe for any thread. Test:
 * {@code PlainTextTest}.
 */
package io.jenkins.plugins.preemptible.engine.text;
