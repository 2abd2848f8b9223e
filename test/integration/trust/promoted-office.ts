import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Digest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { promoteTo } from '../../../scheduler/hub/promote/decide/promote-to.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { chainedOffice } from '../../scheduler/hub/promote/decide/chained-office.ts';
import { NOW } from '../../scheduler/release/removals/office.ts';

const { signal } = new AbortController();

const NO_SERVICES = '{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}';

/** An office that promoted what is in qa, the public keys of its roles, and the summaries in files. */
export const promotedOffice = async () => {
  const office = await chainedOffice();
  const at = (...names: readonly string[]) => join(office.folder, ...names);
  const keys = await openKeyDirectory(at('keys'));
  for (const role of ['release', 'lease', 'bundle'] as const)
    await writeFile(at(`${role}.pub`), keys.root.roles[role].keys[0]?.pem ?? '');
  await writeFile(at('no-services.json'), NO_SERVICES);
  const request = { environment: 'prod', candidate: undefined, person: 'ann', reason: null, now: NOW };
  await promoteTo(await office.openChain(), { ...request, signal });
  const words = [
    'audit',
    'summaries',
    'prod',
    '--out',
    'summaries',
    '--keys',
    'keys',
    '--layout',
    office.layout,
  ];
  const { code, stdout, stderr } = await runScheduler(office.folder, [...words, '--json'], process.env);
  expect(code, stderr).toBe(0);
  const { summaries } = JSON.parse(stdout) as { summaries: readonly { bundle: Digest; file: string }[] };
  expect(await readdir(at('summaries'))).toHaveLength(summaries.length);
  return {
    at,
    folder: office.folder,
    officeLayout: office.layout,
    layout: await openLayout(office.layout),
    roots: keys.roots,
    summaries,
  };
};
