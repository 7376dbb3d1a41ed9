/**
 * How a suspended stage goes on: its image is sealed, it is resumed, or it ends.
 *
 * <p>{@code Sealing}, {@code Resumption} and {@code Ending} begin; {@code SealingSteps} and {@code ResumptionSteps} are given all that
 * they touch. Above the rooms {@code stage}, {@code image}, {@code
 * pipeline} and {@code agents}, below {@code suspend}. Used by {@code step}, {@code queue}, {@code manual} and {@code overview}; it
 * knows none of them. Steps run on {@code StageThreads} and block. Builds save the causes of interruption and {@code
 * ToldInMemoryOnly}: do not move them. Tests: {@code SealingStepsTest} and {@code ResumptionStepsTest} without Jenkins, and all of {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.lifecycle;
