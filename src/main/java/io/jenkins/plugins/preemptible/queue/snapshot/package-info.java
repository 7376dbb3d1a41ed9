/**
 * What the decision is told: read from the queue, the agents and the stages, with the executors that are reserved already.
 *
 * <p>Used by {@code queue} alone; it knows nothing of who decides. {@code SnapshotReader} copies; {@code Reservations} and {@code
 * StageDispatcher} keep a freed executor for the item that it was freed for. Reading happens on the one thread of evaluations and
 * takes the queue's lock for a moment; dispatchers are asked under that lock, so they only look up. No agent is asked. Tests
 * beside it; {@code EvaluationBesideMaintenanceTest} and {@code QueueBenchmark} in {@code queue}.
 */
package io.jenkins.plugins.preemptible.queue.snapshot;
