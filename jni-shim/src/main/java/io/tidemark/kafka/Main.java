package io.tidemark.kafka;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** {@code java -jar tidemark-<version>.jar <command>}: runs the command line tool inside the jar. */
public final class Main {
    private static final int CANNOT_RUN = 126;
    private static final long STOP_SECONDS = 10;

    private Main() {
    }

    /** Passes arguments, standard streams and exit code through. */
    public static void main(String[] args) throws InterruptedException {
        int code;
        try {
            code = run(args);
        } catch (IOException | RuntimeException e) {
            System.err.println("tidemark: " + e.getMessage());
            code = CANNOT_RUN;
        }
        System.exit(code);
    }

    private static int run(String[] args) throws IOException, InterruptedException {
        String os = System.getProperty("os.name", "");
        String arch = System.getProperty("os.arch", "");
        String platform = NativeFaults.platform(os, arch);
        if (platform == null) {
            throw new IOException("there is no command line tool for " + os + "/" + arch + " in this jar");
        }
        Path tool = NativeFiles.of(platform).extract("tidemark");
        List<String> command = new ArrayList<>();
        command.add(tool.toString());
        command.addAll(List.of(args));
        Process process = new ProcessBuilder(command).inheritIO().start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(process), "tidemark-stop"));
        return process.waitFor();
    }

    private static void stop(Process process) {
        process.destroy();
        try {
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
        }
    }
}
