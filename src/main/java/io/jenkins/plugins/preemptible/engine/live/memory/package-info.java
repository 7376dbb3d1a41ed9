/**
 * The memory of a checkpoint, read after the stage runs again.
 *
 * <p>{@code CopyPlan} says which processes are copied and whether that can be done, {@code MemoryCopies} has the copies
 * made, which hold the memory as it was, and {@code LazyPages} puts it into CRIU's image. Used by {@code live} alone, for
 * one thread. Tests: {@code MemoryCopiesTest} and {@code LiveMemoryTest} with real processes.
 */
package io.jenkins.plugins.preemptible.engine.live.memory;
