/**
 * {@code agent { preemptible { … } }} of Declarative Pipeline, and what Declarative cannot have.
 *
 * <p>Loaded only where Declarative is installed; nothing else of the plugin may use it. {@code PreemptibleAgentScript.groovy}
 * is found by the class's name, and running builds save the agent: do not move it. Runs on Pipeline's threads. Tests: {@code
 * WithoutDeclarativeTest}; {@code DeclarativeTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.declarative;
