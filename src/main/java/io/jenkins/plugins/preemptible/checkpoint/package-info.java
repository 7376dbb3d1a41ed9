/**
 * Checkpoints of running stages, from which a stage whose agent is lost goes on elsewhere.
 *
 * <p>{@code DueCheckpoints} says when, {@code Checkpointing} makes one and stores it, {@code ToCheckpoint} gives a stage
 * whose agent is lost the state of its last checkpoint, {@code RolledBack} is told what a restore of it came to, and {@code
 * CheckpointFiles} removes what nobody needs. The restore itself is that of any suspended stage without its agent, see {@code
 * lost} and {@code move}. Tests: {@code CheckpointTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.checkpoint;
