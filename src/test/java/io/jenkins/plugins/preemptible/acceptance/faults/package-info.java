/**
 * Random faults on real Jenkins: {@code ./preempt soak --faults N --seed S}, and with stages that move {@code ./preempt soak
 * --moves N --streams K --seed S}.
 *
 * <ol>
 *   <li>{@code FaultRound} is what is drawn from the seed: forms, fault, moment, times. It does nothing. {@code MoveRound} is the
 *       same for stages that move.
 *   <li>{@code FaultRig} is a {@code ControllerProcess} and two {@code AgentProcess}es behind {@code CuttableLink}s, on file
 *       systems that {@code FullDisk} can fill. {@code MoveRig} has three agents, on a {@code SeparateHost} each.
 *   <li>{@code RoundRun} runs one round on two {@code CountingStage}s, and throws where something was lost or left behind. {@code
 *       MoveRun} runs one on one stage; {@code FaultOnHosts} does what goes wrong, {@code MoveVerdict} judges.
 *   <li>{@code FaultFigures} and {@code MoveFigures} count, and write docs/reliability.md and docs/moving-reliability.md.
 * </ol>
 *
 * Part of {@code ./preempt test} is only what needs no Jenkins: {@code FaultRoundTest}, {@code MoveRoundTest}, {@code
 * MoveVerdictTest} and the tests of the figures.
 */
package io.jenkins.plugins.preemptible.acceptance.faults;
