/**
 * Container blocks of the Docker Pipeline plugin inside of a preemptible block, and around it.
 *
 * <p>That plugin puts {@code docker exec … ID} in front of what a step launches; the launcher of {@code step} sees that line.
 * Here is what it means for the stage: the container is noted in its record, an abort finds a stage that is paused, and a
 * container that ends is forgotten. Only {@code step} uses it. No class of that plugin is needed or called. Called on
 * Pipeline's threads. Tests: {@code ContainerCommandTest}; {@code ContainerTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.container;
