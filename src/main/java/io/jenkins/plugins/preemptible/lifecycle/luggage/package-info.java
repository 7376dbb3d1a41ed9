/**
 * The workspace of a suspended stage, sealed beside its image: with both the stage is resumed without the agent that it left.
 *
 * <p>{@code StageLuggage} packs it on the agent, stores it and unpacks it on another one. What is kept of it is {@code
 * SealedLuggage} of {@code lifecycle.stage}; {@code OutlivesAgent} there says which stages need their agent no more. Blocks for
 * agents and for the artifact manager, so never under a lock of Jenkins. Used by whatever makes an image and by {@code move}.
 * Tests: {@code LostAgentTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.lifecycle.luggage;
