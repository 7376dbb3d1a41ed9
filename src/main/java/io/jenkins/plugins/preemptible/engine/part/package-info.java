/**
 * Parts of stages that live in containers, while the rest of the stage is on the host.
 *
 * <p>The first {@code sh} of a container block inside of a stage gives the stage a part there. A part is a stage of its own to
 * the engine below, {@link io.jenkins.plugins.preemptible.engine.part.StageVerbs}. {@code StageParts} finds which of the two a
 * step on the stage means, {@code PartSteps} does what concerns both, {@code WholeStages} shows them as one. Used by the facade
 * alone. All that is kept is a note a stage, below the home folder. Tests: {@code StagePartsTest}, with real containers.
 */
package io.jenkins.plugins.preemptible.engine.part;
