/**
 * Random faults on real Jenkins: {@code ./preempt soak --faults N --seed S}.
 *
 * <ol>
 *   <li>{@code FaultRound} is what is drawn from the seed: forms, fault, moment, times. It does nothing.
 *   <li>{@code FaultRig} is a controller in a process of its own, two agent processes behind {@code CuttableLink}s, and
 *       folders on file systems that {@code FullDisk} can fill.
 *   <li>{@code RoundRun} runs one round on two {@code CountingStage}s, and throws where something was lost or left behind.
 *   <li>{@code FaultFigures} counts, and writes docs/reliability.md.
 * </ol>
 *
 * Nothing here is part of {@code ./preempt test} but {@code FaultRoundTest}, which needs no Jenkins.
 */
package io.jenkins.plugins.preemptible.acceptance.faults;
