import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runOrFail } from '../harness/run/run-command.ts';

const SCRIPT = join(import.meta.dirname, '../fixtures/program/every-verb.ts');

type Result = {
  readonly line: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
};

it('every verb reports a usage error with --json as JSON alone, with exit code 2', async () => {
  const { stdout } = await runOrFail([process.execPath, SCRIPT]);
  const results = JSON.parse(stdout) as Result[];
  expect(results.length).toBeGreaterThan(60);
  for (const { line, stdout: text, stderr, exitCode } of results) {
    expect({ line, stderr, exitCode }).toEqual({ line, stderr: '', exitCode: 2 });
    expect(JSON.parse(text), line).toMatchObject({ error: { code: 'USAGE', retryable: false } });
  }
});
