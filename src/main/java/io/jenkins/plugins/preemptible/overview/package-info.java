/**
 * The page and the REST data of everything that is suspended, runs or waits: {@code preemptible/} below Jenkins' address.
 *
 * <ol>
 *   <li>Shows what the looking user may see; reads memory only, loads no build for a list and asks no agent.
 *   <li>Each list is sorted and cut into pages on the controller: ten thousand rows are a hundred at a time.
 *   <li>What it lets people do is done by {@link io.jenkins.plugins.preemptible.manual.StageVerbs}, which checks the rights.
 * </ol>
 */
package io.jenkins.plugins.preemptible.overview;
