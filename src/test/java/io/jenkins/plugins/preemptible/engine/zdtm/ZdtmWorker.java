package io.jenkins.plugins.preemptible.engine.zdtm;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Verdict;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Way;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.logging.LogManager;

/**
 * A process of its own that runs tests one by one, in the network namespace in which it was started.
 *
 * <p>Arguments: the suite's folder, a home for its stages. Each line of the standard input is a way and a test, with a
 * blank between them; each line of the standard output is a {@link ZdtmResult} as JSON.
 */
final class ZdtmWorker {

    private ZdtmWorker() {}

    public static void main(String[] args) throws Exception {
        LogManager.getLogManager().reset();
        Path home = Path.of(args[1]);
        Engine engine = Engine.open(home);
        clear(engine);
        ZdtmSuite suite = ZdtmSuite.open(Path.of(args[0]));
        ZdtmRun run = new ZdtmRun(suite, home, engine, ImageKey.generate());
        ObjectMapper json = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", 2);
            Way way = Way.valueOf(words[0]);
            ZdtmResult result;
            try {
                result = way == Way.PLAIN ? PlainCriu.run(suite, words[1]) : run.run(words[1], way);
            } catch (Exception e) {
                result = new ZdtmResult(words[1], way, Verdict.ERROR, e.toString(), 0);
            }
            System.out.println(json.writeValueAsString(result));
        }
    }

    // One that did not answer was killed and left its stage.
    private static void clear(Engine engine) {
        for (StageStatus left : engine.list()) {
            engine.kill(left.id());
            engine.forget(left.id());
        }
    }
}
