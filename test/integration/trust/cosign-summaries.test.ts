import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { type Layout, openLayout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { PREDICATES, SLSA_SUMMARY } from '#bundles/media-types';
import { promoteTo } from '../../../scheduler/hub/promote/decide/promote-to.ts';
import { readChannels } from '../../../scheduler/hub/promote/facts/read-channels.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { bundlesOf } from '../../../scheduler/load/releases/read-release.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Outcome, runCommand, succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { chainedOffice } from '../../scheduler/hub/promote/decide/chained-office.ts';
import { NOW } from '../../scheduler/release/removals/office.ts';

const { signal } = new AbortController();

/** cosign 2 asks the public services for keys unless it gets a trusted root, and reads a sigstore bundle only when told to. */
const VERSIONS = {
  cosign: { title: 'cosign 3', flags: [] },
  cosign2: { title: 'cosign 2', flags: ['--new-bundle-format', '--trusted-root', 'no-services.json'] },
} as const;

const NO_SERVICES = '{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}';

/** An office that promoted what is in qa, the public keys of its roles, and the summaries in files. */
const promotedOffice = async () => {
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
  return { at, folder: office.folder, layout: await openLayout(office.layout), roots: keys.roots, summaries };
};

/** Bundles released in qa with the first signature of their statement. */
const statementsOf = async (layout: Layout, roots: Parameters<typeof readChannels>[1]) => {
  const channels = await readChannels(layout, roots, 'qa');
  return Promise.all(
    channels
      .flatMap(({ release }) => release ?? [])
      .map(async (release) => {
        const [bundle] = bundlesOf(release);
        const [statement] = await statementFiles(layout.blobs, release.documents, 'bundle', bundle);
        if (!bundle || !statement) throw new Error('a release without a bundle');
        return { bundle, statement };
      }),
  );
};

for (const program of ['cosign', 'cosign2'] as const) {
  const { title, flags } = VERSIONS[program];
  describeWith([program], title, (paths) => {
    it('verifies with the release key alone that a bundle passed qa, and with the bundle key who built it', async () => {
      const { at, folder, layout, roots, summaries } = await promotedOffice();
      const verify = (type: string, key: string, file: string, blob: string): Promise<Outcome> => {
        const words = ['--insecure-ignore-tlog', '--key', key, '--type', type, '--bundle', file];
        return runCommand([paths[program], 'verify-blob-attestation', ...flags, ...words, blob], {
          cwd: folder,
          env: { PATH: process.env['PATH'], HOME: folder },
        });
      };
      expect(summaries.length).toBeGreaterThan(0);
      await writeFile(at('another-bundle'), 'another bundle');
      for (const { bundle, file } of summaries) {
        const blob = layout.blobs.path(bundle);
        succeed(await verify(SLSA_SUMMARY, 'release.pub', file, blob));
        expect((await verify(SLSA_SUMMARY, 'lease.pub', file, blob)).code).not.toBe(0);
        expect((await verify(SLSA_SUMMARY, 'release.pub', file, 'another-bundle')).code).not.toBe(0);
      }
      for (const { bundle, statement } of await statementsOf(layout, roots)) {
        await writeFile(at('bundle.sigstore.json'), statement);
        const blob = layout.blobs.path(bundle);
        succeed(await verify(PREDICATES.bundle, 'bundle.pub', 'bundle.sigstore.json', blob));
        expect((await verify(PREDICATES.bundle, 'release.pub', 'bundle.sigstore.json', blob)).code).not.toBe(
          0,
        );
      }
    });
  });
}
