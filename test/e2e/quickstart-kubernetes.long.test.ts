import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../harness/run/describe-with.ts';
import { runCommand } from '../harness/run/run-command.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');

describeWith(
  ['nodeBase', 'kube', 'busybox', 'dockerRegistry'],
  'npm run quickstart -- --kubernetes',
  (paths) => {
    it('runs to its end with real pods', { timeout: 480_000 }, async () => {
      const { code, stdout, stderr } = await runCommand(
        [process.execPath, 'examples/quickstart.ts', '--kubernetes'],
        {
          cwd: REPOSITORY,
          env: {
            ...process.env,
            FLEET_NODE_BASE: paths.nodeBase,
            FLEET_KUBE: paths.kube,
            FLEET_BUSYBOX: paths.busybox,
            FLEET_DOCKER_REGISTRY: paths.dockerRegistry,
          },
        },
      );
      expect(code, stdout + stderr).toBe(0);
      // Real pods, of the images of each way in, and of the release before where one does not start.
      const pages = [...stdout.matchAll(/^ +This is (line-control:.*)\.$/gm)].map(([, page]) => page);
      expect(pages).toEqual(['5.0.4', '5.0.4', '5.1.0', '5.2.0', '5.2.0'].map((it) => `line-control:${it}`));
      expect(stdout).toMatch(/Registry .*failing since[^]*Hub .*failing since/);
      expect(stdout).toContain('plant-7/line-1 is silent');
      expect(stdout).toMatch(/! failed +line-control-line .*rolled back/);
      expect(stdout).toMatch(/line-control-line, .*: CHECK_FAILED: /);
      expect(stdout).toMatch(/complies +telemetry-line [^]*none is missing/);
      // The gate is open for release 3, and closed for the one that failed.
      expect(stdout).toMatch(
        /dev to qa: candidate sha256:\w+: ready\n[^]*is promoted from dev, number 1\n[^]*qa\/factory-line +release 1 released/,
      );
      expect(stdout).toMatch(/: waiting\n[^]*! failures +1 [^]*plant-7\/line-1: failed: line-control-line/);
    });
  },
);
