import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../harness/run/run-command.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');

it('npm run quickstart runs from dev over a medium to prod, with the expected refusals', async () => {
  const { code, stdout, stderr } = await runCommand([process.execPath, 'examples/quickstart.ts'], {
    cwd: REPOSITORY,
    env: process.env,
  });
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toMatch(/qa: candidate sha256:\w+ is promoted from dev, number 1/);
  // The gate to prod waits for the soak and for a second person, and opens when it has both.
  expect(stdout).toMatch(/! soak +0 of 1 agents[^]*! approvals +none/);
  expect(stdout).toMatch(/prod: candidate sha256:\w+ is approved by carla/);
  expect(stdout).toMatch(/prod: candidate sha256:\w+ is promoted from qa, number 1/);
  expect(stdout).toMatch(
    /plant-7\/oven-1, prod\/smoke-oven, [^\n]*\n +complies +oven-programs-oven +r1 +healthy/,
  );
  expect(stdout).toContain('the number of the oven is 7, and 1 elsewhere');
  expect(stdout).toMatch(/failed, rolled back +CHECK_FAILED[^]*GATE_CLOSED[^]*DIGEST_MISMATCH[^]*ROLLBACK/);
});
