/**
 * A program of its own that decides a value in a repository, pushes it with Git, and kills itself at one point of openKilledHub, or before or after
 * the push. Arguments: folder of the hub, number of the point (-1: none), time, value.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { saveEdit } from '../../../../../scheduler/author/save/save-edit.ts';
import { identityOf } from '../../../../../scheduler/deliver/git/commit-identity.ts';
import {
  decideInRepository,
  type ValuesWriter,
} from '../../../../../scheduler/hub/promote/values/decide-in-repository.ts';
import { openKilledHub } from './killed-hub.ts';

const [folder = '', wanted = '-1', time = '', value = ''] = process.argv.slice(2);
const { hub, pass, passed } = await openKilledHub({ folder, layout: 'layout', reason: 'new line', wanted });
await using _open = hub;
const now = new Date(time);

const write: ValuesWriter = async ({ values }) => {
  const bytes = Buffer.from(JSON.stringify(values));
  pass();
  const saved = await saveEdit(
    {
      layer: 'base',
      location: {
        kind: 'git',
        repo: pathToFileURL(join(folder, 'platform.git')).href,
        revision: { kind: 'branch', name: 'main' },
      },
      files: [{ path: `line-${value}.yaml`, was: undefined, bytes }],
      subject: `Config line-${value}`,
      outcome: 'created',
    },
    {
      cacheDirectory: join(folder, 'cache'),
      env: process.env,
      signal: AbortSignal.timeout(60_000),
      forge: undefined,
      connection: { plainHttp: [], env: process.env },
      identity: identityOf({ committer: undefined, signCommits: false }),
      now,
      person: 'ann',
      reason: 'new line',
      pullRequest: false,
    },
  );
  pass();
  return { subject: `Config line-${value}`, ...saved };
};

const set = { line: Number(value) };
const change = { site: 'plant-7', set, unset: [] };
const { outcome, commit } = await decideInRepository(
  hub,
  [{ siteSelector: { site: 'plant-7' }, set, unset: [], changes: [change] }],
  { write, review: { approvals: undefined, roles: {}, write: 'commit' }, now },
);
process.stdout.write(JSON.stringify({ point: passed(), outcome, commit }));
