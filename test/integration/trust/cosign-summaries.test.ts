import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { type Layout, openLayout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { PREDICATES, SLSA_SUMMARY } from '#bundles/media-types';
import { formatTime } from '#bundles/time';
import { readChannels } from '../../../scheduler/hub/promote/facts/read-channels.ts';
import { bundlesOf } from '../../../scheduler/load/releases/read-release.ts';
import { startOciRegistry } from '../../harness/neighbours/oci-registry.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Outcome, runCommand, succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { NOW } from '../../scheduler/release/removals/office.ts';
import { promotedOffice } from './promoted-office.ts';

/** cosign 2 asks the public services for keys unless it gets a trusted root, and reads a sigstore bundle only when told to. */
const VERSIONS = {
  cosign: { title: 'cosign 3', flags: [] },
  cosign2: { title: 'cosign 2', flags: ['--new-bundle-format', '--trusted-root', 'no-services.json'] },
} as const;

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

describeWith(['cosign', 'cosign2', 'dockerRegistry', 'ociregistry'], 'the registry', (paths) => {
  it.each([
    ['with referrers', () => startOciRegistry(paths.ociregistry)],
    ['without referrers', () => startRegistry(paths.dockerRegistry)],
  ] as const)(
    '%s has the summary beside its bundle, where cosign finds it by the reference alone',
    async (_, start) => {
      await using registry = await start();
      const { at, folder, roots, summaries, officeLayout } = await promotedOffice();
      const words = [
        'publish',
        `oci://${registry.host}/fleet`,
        '--layout',
        officeLayout,
        '--plain-http',
        registry.host,
        '--now',
        formatTime(NOW),
      ];
      const published = await runScheduler(folder, words, process.env);
      expect(published.code, published.stderr).toBe(0);
      expect(published.stdout).toMatch(/summaries:prod\.1 +promotion 1 {2}sent/);
      const verify = (
        program: 'cosign' | 'cosign2',
        type: string,
        key: string,
        reference: string,
      ): Promise<Outcome> => {
        const flags = ['--insecure-ignore-tlog', '--allow-http-registry', ...VERSIONS[program].flags];
        return runCommand(
          [paths[program], 'verify-attestation', ...flags, '--key', at(key), '--type', type, reference],
          { cwd: folder, env: { PATH: process.env['PATH'], HOME: folder } },
        );
      };
      const layout = await openLayout(officeLayout);
      const channels = await readChannels(layout, roots, 'qa');
      for (const { bundle } of summaries) {
        const of = channels.find(({ release }) => release && bundlesOf(release).includes(bundle));
        const reference = `${registry.host}/fleet/qa/${of?.channel.clusterType}@${bundle}`;
        for (const program of ['cosign', 'cosign2'] as const) {
          const { stdout } = succeed(await verify(program, SLSA_SUMMARY, 'release.pub', reference));
          const [line = ''] = stdout.split('\n');
          const { payload } = JSON.parse(line) as { payload: string };
          expect(JSON.parse(Buffer.from(payload, 'base64').toString())).toMatchObject({
            predicate: { verificationResult: 'PASSED', verifiedLevels: ['FLEET_FERRY_PASSED_QA'] },
          });
          expect((await verify(program, SLSA_SUMMARY, 'bundle.pub', reference)).code).not.toBe(0);
          // The statement about the bundle is found as before.
          succeed(await verify(program, PREDICATES.bundle, 'bundle.pub', reference));
        }
      }
    },
  );
});
