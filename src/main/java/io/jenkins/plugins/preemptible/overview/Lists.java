package io.jenkins.plugins.preemptible.overview;

import io.jenkins.plugins.preemptible.overview.parts.Column;
import io.jenkins.plugins.preemptible.overview.parts.ListQuery;
import io.jenkins.plugins.preemptible.overview.parts.Listing;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import org.kohsuke.stapler.StaplerRequest2;

/** The lists of the page; the name in lower case is the last part of the address. */
public enum Lists {
    SUSPENDED {
        @Override
        String title() {
            return Messages.Lists_Suspended();
        }

        @Override
        int total() {
            return StageRows.stages(true).size();
        }

        @Override
        Listing listing(StaplerRequest2 request) {
            return part(request, StageRows.stages(true), StageRows.suspendedColumns(), StageRows.steps());
        }
    },
    RUNNING {
        @Override
        String title() {
            return Messages.Lists_Running();
        }

        @Override
        int total() {
            return StageRows.stages(false).size();
        }

        @Override
        Listing listing(StaplerRequest2 request) {
            return part(request, StageRows.stages(false), StageRows.runningColumns(), StageRows.steps());
        }
    },
    WAITING {
        @Override
        String title() {
            return Messages.Lists_Waiting();
        }

        @Override
        int total() {
            return SchedulerState.buildable().size();
        }

        @Override
        Listing listing(StaplerRequest2 request) {
            return part(request, SchedulerState.buildable(), WaitingRows.columns(), item -> List.of());
        }
    },
    AGENTS {
        @Override
        String title() {
            return Messages.Lists_Agents();
        }

        @Override
        int total() {
            return SchedulerState.agents().size();
        }

        @Override
        Listing listing(StaplerRequest2 request) {
            return part(request, SchedulerState.agents(), AgentRows.columns(), AgentRows::steps);
        }
    };

    /** Its address, below Jenkins' own. */
    String page() {
        return PreemptibleRootAction.URL + "/" + id();
    }

    /** The last part of its address. */
    String id() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Optional<Lists> of(String id) {
        return Arrays.stream(values()).filter(list -> list.id().equals(id)).findFirst();
    }

    abstract String title();

    /** How many rows the looking user may see. */
    abstract int total();

    /**
     * The part that a request asks for.
     *
     * @throws org.kohsuke.stapler.HttpResponses.HttpResponseException with status 400 when it asks for what there is not
     */
    abstract Listing listing(StaplerRequest2 request);

    static <T> Listing part(
            StaplerRequest2 request, List<T> all, List<Column<T>> columns, Function<T, List<Listing.Step>> steps) {
        return Listing.of(
                all,
                columns,
                steps,
                ListQuery.of(request, columns.stream().map(Column::id).toList()));
    }
}
