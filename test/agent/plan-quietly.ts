import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { type MediumPlan, planMedium } from '../../agent/daemon/plan-medium.ts';
import type { ImportOptions } from '../../agent/daemon/import-medium.ts';
import type { Agent } from '../../agent/store/agent.ts';
import { scratchState } from '../../agent/store/state.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

/** Everything below a path, with times: a file written again would show. */
const treeOf = (path: string): string => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return `${path} is not there`;
  const line = `${path} ${found.mtimeMs}`;
  if (!found.isDirectory()) return `${line} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
  const names = readdirSync(path).toSorted();
  return [line, ...names.map((name) => treeOf(join(path, name)))].join('\n');
};

/** Plans the import of media, and checks that neither the agent nor the machine nor the medium differs afterwards. */
export const planQuietly = async (
  agent: Agent,
  machine: string,
  paths: readonly string[],
  wish: ImportOptions = {},
): Promise<MediumPlan> => {
  const seen = () => [
    createHash('sha256').update(agent.state.db.serialize()).digest('hex'),
    treeOf(join(agent.state.directory, 'blobs')),
    treeOf(machine),
    ...paths.map(treeOf),
  ];
  // Other tests plan at the same time: this one has a folder for temporary files of its own.
  await using temporary = await temporaryDirectory('plan');
  vi.stubEnv('TMPDIR', temporary.path);
  const before = seen();
  using state = scratchState(agent.state);
  try {
    return await planMedium({ ...agent, state }, paths, wish);
  } finally {
    expect(seen()).toEqual(before);
    expect(readdirSync(temporary.path)).toEqual([]);
    vi.unstubAllEnvs();
  }
};
