import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Condition, Verdict } from '../../../scheduler/hub/promote/judge/verdict.ts';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { EXAMPLE_IMAGES, makeImages } from '../../../examples/make-images.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { type Outcome, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { newSigstore } from '../../harness/sigstore/sigstore.ts';
import { identityToken, type SigstoreServer, startSigstore } from '../../harness/sigstore/sigstore-server.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { FILES } from '../../scheduler/release/chain/chain-office.ts';

const TYPE = 'https://spdx.dev/Document';
const PROVENANCE = 'https://slsa.dev/provenance/v1';
const ISSUER = 'https://token.actions.example';
const PIPELINE = 'https://git.example/halden/images/.github/workflows/release.yml@refs/tags/v1';
const [, TELEMETRY] = EXAMPLE_IMAGES;
const OLDER = ['--new-bundle-format=false', '--use-signing-config=false', '--tlog-upload=false'];
const FILES_OF_COSIGN_2 = [
  'SIGSTORE_ROOT_FILE',
  'SIGSTORE_REKOR_PUBLIC_KEY',
  'SIGSTORE_CT_LOG_PUBLIC_KEY_FILE',
];
const SERVICES = ['--signing-config', 'services.json', '--trusted-root', 'authorities.json'];

describeWith(
  ['cosign', 'cosign2', 'skopeo', 'dockerRegistry'],
  'a gate that requires an SBOM of each image',
  (paths) => {
    let registry: Awaited<ReturnType<typeof startRegistry>>;
    let folder: TemporaryDirectory;
    let image: string;
    let sigstore: SigstoreServer;

    const run = (...words: readonly string[]): Promise<Outcome> =>
      runScheduler(folder.path, words, { ...process.env, HOME: folder.path });
    const cosign = (...words: readonly string[]): Promise<Outcome> =>
      runOrFail([paths.cosign, ...words], {
        cwd: folder.path,
        env: { PATH: process.env['PATH'], HOME: folder.path, COSIGN_PASSWORD: 'builder' },
      });
    const attest = (key: string, ...words: readonly string[]): Promise<Outcome> => {
      const predicate = ['--predicate', 'sbom.json', '--type', 'spdxjson'];
      return cosign('attest', '--key', `${key}.key`, '--yes', ...predicate, ...words, image);
    };
    /** Locks what lies beside the image now, builds dev, and asks the gate. */
    const release = async (type = TYPE): Promise<Condition & { readonly state: string }> => {
      succeed(await run('images', 'lock', '--platform', 'platform', '--update'));
      succeed(await run('build', '--pull-images', '--environment', 'dev'));
      const verdict = JSON.parse(
        succeed(await run('promote', 'qa', '--explain', '--json')).stdout,
      ) as Verdict;
      const found = verdict.conditions.find(({ name }) => name === `attestation ${type}`);
      if (!found) throw new Error(verdict.conditions.map(({ name }) => name).join(', '));
      return { ...found, state: verdict.state };
    };

    beforeAll(async () => {
      registry = await startRegistry(paths.dockerRegistry);
      folder = await temporaryDirectory('promotion-attestations');
      await makeImages(join(folder.path, 'images'));
      const name = TELEMETRY.replace(/^[^/]+/, registry.host);
      const copy = ['copy', '--all', '--preserve-digests', '--dest-tls-verify=false'];
      await runOrFail([
        paths.skopeo,
        ...copy,
        `oci:${join(folder.path, 'images')}:${TELEMETRY}`,
        `docker://${name}`,
      ]);
      const digest = findReference(await openLayout(join(folder.path, 'images')), TELEMETRY)?.digest ?? '';
      image = `${name.slice(0, name.lastIndexOf(':'))}@${digest}`;
      for (const key of ['builder', 'stranger'])
        await cosign('generate-key-pair', '--output-key-prefix', key);
      await cosign('signing-config', 'create', '--out', 'services.json');
      await cosign('trusted-root', 'create', '--out', 'authorities.json');
      const instance = await newSigstore();
      sigstore = await startSigstore(instance);
      await writeFiles(folder.path, instance.filesOfCosign2);
      await writeFile(join(folder.path, 'sigstore.json'), sigstore.signingConfig);
      await writeFile(join(folder.path, 'trusted_root.json'), instance.trustedRoot());
      const pem = (await readFile(join(folder.path, 'builder.pub'), 'utf8'))
        .trimEnd()
        .replaceAll('\n', '\n        ');
      const policy = `spec:
  from: dev
  to: qa
  attestations:
    - type: ${TYPE}
      keys:
      - |
        ${pem}
    - type: ${PROVENANCE}
      match: ["${registry.host}/pipeline-*"]
      certificates:
        signers: [{issuer: "${ISSUER}", identity: "https://git.example/halden/**"}]
        trustedRoot: |
          ${instance.trustedRoot()}
`;
      const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: "${name}" }] }
`;
      // Larger than any signature may be.
      const comment = 'x'.repeat(300_000);
      await writeFiles(folder.path, {
        ...Object.fromEntries(Object.entries(FILES).map(([file, text]) => [`platform/${file}`, text])),
        'platform/apps/shop/web/web.yaml': deployment,
        'platform/promotion/dev-to-qa.yaml': ours('PromotionPolicy', 'dev-to-qa', policy),
        'sbom.json': JSON.stringify({ spdxVersion: 'SPDX-2.3', comment }),
        'fleet-scheduler.yaml': 'platform: platform\nkeys: keys\nlayout: releases\ncache: cache\n',
      });
      succeed(await run('root', 'init', '--dev', '--fleet', 'halden'));
    });
    afterAll(async () => {
      await sigstore?.[Symbol.asyncDispose]();
      await registry?.[Symbol.asyncDispose]();
      await folder?.[Symbol.asyncDispose]();
    });

    it('stays closed without one or with another key, and opens with the key of the policy', async () => {
      const without = await release();
      expect(without).toMatchObject({
        met: false,
        found: '0 of 1',
        state: 'waiting',
        changedBy: ['release'],
      });
      expect(without.holding.first).toEqual([
        expect.stringMatching(
          /\/telemetry@sha256:[0-9a-f]{64} \(shop-web\): the bundle has no such attestation of it/,
        ),
      ]);
      const closed = await run('promote', 'qa', '--person', 'ann');
      expect([closed.code, closed.stderr]).toEqual([8, expect.stringContaining('GATE_CLOSED')]);

      await attest('stranger', ...OLDER);
      const strange = await release();
      expect(strange).toMatchObject({ met: false, found: '0 of 1' });
      expect(strange.holding.first).toEqual([
        expect.stringMatching(/\(shop-web\): the attestation is not signed by [0-9a-f]{16}$/),
      ]);

      await attest('builder', ...SERVICES);
      expect(await release()).toMatchObject({ met: true, found: '1 of 1', state: 'ready' });
      succeed(await run('promote', 'qa', '--person', 'ann'));
    });

    it('reads the older form of cosign', async () => {
      await writeFile(
        join(folder.path, 'sbom.json'),
        JSON.stringify({ spdxVersion: 'SPDX-2.3', comment: 'older' }),
      );
      const other = image;
      image = await copyAs('older');
      try {
        await attest('builder', ...OLDER);
        await runImage('older');
        expect(await release()).toMatchObject({ met: true, found: '1 of 1' });
      } finally {
        image = other;
      }
    });

    /** cosign 2 writes the older form. Its authorities are in variables of the environment. */
    const signingAs = {
      'cosign 3': () => [
        paths.cosign,
        'attest',
        '--signing-config',
        'sigstore.json',
        '--trusted-root',
        'trusted_root.json',
      ],
      'cosign 2': () => [
        'env',
        ...FILES_OF_COSIGN_2.map((name) => `${name}=${join(folder.path, name)}`),
        paths.cosign2,
        'attest',
        '--fulcio-url',
        sigstore.url,
        '--rekor-url',
        sigstore.url,
      ],
    } as const;

    it.each(Object.entries(signingAs))(
      'opens with a certificate that the policy names, and not with one of a stranger: %s',
      async (program, words) => {
        const repository = `pipeline-${program.slice(-1)}`;
        const subject = await copyAs(repository);
        await runImage(repository);
        const predicate = { buildDefinition: { buildType: 'https://example.test' } };
        await writeFile(join(folder.path, 'provenance.json'), JSON.stringify(predicate));
        const attestAs = async (identity: string): Promise<void> => {
          const token = ['--identity-token', identityToken({ identity, issuer: ISSUER })];
          const what = ['--predicate', 'provenance.json', '--type', PROVENANCE];
          await runOrFail([...words(), '--yes', ...token, ...what, subject], {
            cwd: folder.path,
            env: { PATH: process.env['PATH'], HOME: folder.path },
          });
        };
        expect(await release(PROVENANCE)).toMatchObject({ met: false, found: '0 of 1' });
        await attestAs('https://git.example/stranger');
        const strange = await release(PROVENANCE);
        expect(strange).toMatchObject({ met: false, found: '0 of 1' });
        expect(strange.holding.first).toEqual([
          expect.stringContaining(
            `is not signed by https://git.example/halden/** by ${ISSUER}: its certificate is for "https://git.example/stranger"`,
          ),
        ]);
        await attestAs(PIPELINE);
        expect(await release(PROVENANCE)).toMatchObject({ met: true, found: '1 of 1' });
      },
    );

    const runImage = async (repository: string): Promise<void> => {
      const file = join(folder.path, 'platform/apps/shop/web/web.yaml');
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace(/image: "[^"]*"/, `image: "${registry.host}/${repository}:1"`));
    };

    /** The same image in a repository that nobody has attested it in. */
    const copyAs = async (repository: string): Promise<string> => {
      const copy = ['copy', '--all', '--preserve-digests', '--dest-tls-verify=false'];
      const from = `oci:${join(folder.path, 'images')}:${TELEMETRY}`;
      await runOrFail([paths.skopeo, ...copy, from, `docker://${registry.host}/${repository}:1`]);
      return `${registry.host}/${repository}@${image.slice(image.indexOf('@') + 1)}`;
    };
  },
);
