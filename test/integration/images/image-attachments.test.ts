import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { mirrorPath } from '#bundles/transport/registry/mirror-path';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { judgeOffer } from '../../../agent/acquire/offers/judge-offer.ts';
import { readOffer } from '../../../agent/acquire/offers/read-offer.ts';
import { openFast } from '../../agent/world.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import {
  enrollByStick,
  REGISTRIES,
  type RegistryCompany,
  startRegistryCompany,
  succeed,
} from './registry-company.ts';

const OLDER = ['--new-bundle-format=false', '--use-signing-config=false', '--tlog-upload=false'];
const SERVICES = ['--signing-config', 'services.json', '--trusted-root', 'authorities.json'];
const VERIFYING = ['--key', 'builder.pub', '--insecure-ignore-tlog', '--allow-insecure-registry'];

const [WITHOUT, WITH] = REGISTRIES;

/** The registry of the office, and that of the site: without and with the referrers API, and in the long run both of a kind. */
const PAIRS = LONG
  ? ([
      [WITHOUT, WITHOUT],
      [WITH, WITH],
    ] as const)
  : ([[WITHOUT, WITH]] as const);

for (const [[part, title, start], [sitePart, siteTitle, startSite]] of PAIRS) {
  const parts = ['cosign', 'oras', 'skopeo', part, sitePart] as const;
  describeWith(parts, `attachments of images in ${title}, at a site with ${siteTitle}`, (paths) => {
    let registry: AsyncDisposable & { readonly host: string };
    let office: RegistryCompany;
    const at = (...names: readonly string[]) => office.at(...names);
    /** What it prints on standard output. */
    const tool =
      (path: string) =>
      async (...words: readonly string[]): Promise<string> => {
        const outcome = office.tool(path, ...words);
        await succeed(outcome);
        return (await outcome).stdout;
      };
    const cosign = tool(paths.cosign);
    const oras = tool(paths.oras);
    const lock = (...words: readonly string[]) =>
      succeed(office.run('images', 'lock', '--platform', 'platform', ...words));
    const lockFile = () => readFile(at('platform/images.lock.yaml'), 'utf8');
    const build = (layout = 'releases') => {
      const words = ['--platform', 'platform', '--keys', 'keys', '--layout', layout, '--pull-images'];
      return succeed(office.run('build', ...words, '--environment', 'prod'));
    };
    /** What was attached at the office, found at the site by the tools that attached it. */
    const findAll = async (prefix: string, into: string): Promise<void> => {
      const name = await office.topOf('telemetry');
      const mirrored = `${prefix}/${mirrorPath(name)}@${await office.digestIn('telemetry')}`;
      await cosign('verify', ...VERIFYING, mirrored);
      await cosign('verify', ...VERIFYING, ...OLDER.slice(0, 1), mirrored);
      await cosign('verify-attestation', ...VERIFYING, '--type', 'spdxjson', mirrored);
      await cosign('verify-attestation', ...VERIFYING, '--type', 'spdxjson', ...OLDER.slice(0, 1), mirrored);
      const sbom = await readFile(at('sbom.json'), 'utf8');
      expect((await cosign('download', 'sbom', mirrored)).trim()).toBe(sbom);
      const discovered = JSON.parse(await oras('discover', '--plain-http', '--format', 'json', mirrored)) as {
        referrers: readonly { readonly artifactType: string; readonly reference: string }[];
      };
      expect(discovered.referrers.map(({ artifactType }) => artifactType).toSorted()).toEqual([
        'application/spdx+json',
        'application/vnd.dev.sigstore.bundle.v0.3+json',
        'application/vnd.dev.sigstore.bundle.v0.3+json',
      ]);
      const spdx = discovered.referrers.find(({ artifactType }) => artifactType.includes('spdx'));
      await oras('pull', '--plain-http', '--output', into, spdx?.reference ?? '');
      expect(await readFile(at(into, 'sbom.json'), 'utf8')).toBe(sbom);
    };

    beforeAll(async () => {
      registry = await start(paths[part]);
      office = await startRegistryCompany(registry, paths.skopeo);
      await cosign('signing-config', 'create', '--out', 'services.json');
      await cosign('trusted-root', 'create', '--out', 'authorities.json');
      await cosign('generate-key-pair', '--output-key-prefix', 'builder');
      // Larger than any signature may be.
      const sbom = { spdxVersion: 'SPDX-2.3', comment: randomBytes(200_000).toString('hex') };
      await writeFile(at('sbom.json'), JSON.stringify(sbom));
      await office.writePolicy('telemetry');
      const telemetry = await office.topOf('telemetry');
      const key = ['--key', 'builder.key', '--yes'];
      await cosign('sign', ...key, ...SERVICES, telemetry);
      await cosign('sign', ...key, ...OLDER, telemetry);
      const predicate = ['--predicate', 'sbom.json', '--type', 'spdxjson'];
      await cosign('attest', ...key, ...predicate, ...SERVICES, telemetry);
      await cosign('attest', ...key, ...predicate, ...OLDER, telemetry);
      await cosign('attach', 'sbom', '--sbom', 'sbom.json', '--type', 'spdx', telemetry);
      const type = 'application/spdx+json';
      await oras('attach', '--plain-http', '--artifact-type', type, telemetry, `sbom.json:${type}`);
    });
    afterAll(async () => {
      await registry?.[Symbol.asyncDispose]();
      await office?.[Symbol.asyncDispose]();
    });

    it('are locked with the image, by digest and tag', async () => {
      await lock();
      const hex = (await office.digestIn('telemetry')).slice('sha256:'.length);
      const [, section = ''] = (await lockFile()).split(/^ {2}attachments:\n/m);
      const lines = section.split('\n').map((line) => line.trim());
      expect(lines[0]).toBe(`sha256:${hex}:`);
      const digest = 'sha256:[0-9a-f]{64}';
      // A signature, an attestation and an SBOM by referrers, and the three by tags.
      expect(lines.slice(1, 7)).toEqual([
        ...['att', 'sbom', 'sig'].map((kind) =>
          expect.stringMatching(new RegExp(`^- "?sha256-${hex}\\.${kind}@${digest}"?$`)),
        ),
        ...[1, 2, 3].map(() => expect.stringMatching(new RegExp(`^- "?${digest}"?$`))),
      ]);
      expect(lines[7] ?? '').toBe('');
    });

    it('are in the closure, and later ones change neither lock nor bundle without --update', async () => {
      await build();
      const before = await office.bundleOf();
      const image = before.config.closure.find(({ names: [name] = [] }) => name?.includes('/telemetry@'));
      expect(image?.attachments).toHaveLength(6);
      expect(Object.keys(image?.attachmentTags ?? {})).toHaveLength(3);
      const carried = new Set(before.config.closure.map(({ digest }) => digest));
      expect(image?.attachments?.filter((digest) => !carried.has(digest))).toEqual([]);

      const locked = await lockFile();
      await writeFile(at('note.txt'), 'reviewed');
      const telemetry = await office.topOf('telemetry');
      await oras('attach', '--plain-http', '--artifact-type', 'text/note', telemetry, 'note.txt:text/plain');
      await lock();
      expect(await lockFile()).toBe(locked);
      await build('again');
      expect((await office.bundleOf('again')).digest).toBe(before.digest);
      await lock('--update');
      const renewed = await lockFile();
      expect(renewed.split('\n')).toHaveLength(locked.split('\n').length + 1);
    });

    it('are left out beyond the limits in the lock file', async () => {
      const locked = await lockFile();
      const small = locked.replace(/^spec:\n/m, 'spec:\n  take: {attachments: all, maxBytes: 100000}\n');
      await writeFile(at('platform/images.lock.yaml'), small);
      const said = await office.run('images', 'lock', '--platform', 'platform', '--update');
      expect(said.code).toBe(0);
      expect(said.stdout + said.stderr).toMatch(
        /TOO_LARGE: beside \S+telemetry this is left out: sha256-\w+\.sbom, which has \d+ bytes/,
      );
      await writeFile(
        at('platform/images.lock.yaml'),
        small.replace('{attachments: all', '{attachments: signatures'),
      );
      await lock('--update');
      expect((await lockFile()).match(/^ {6}- /gm)).toHaveLength(2);
      await writeFile(at('platform/images.lock.yaml'), locked);
    });

    it('reach the registry of a site by a medium, where cosign and oras find them without a network', async () => {
      using state = openFast(at('state'), { create: true });
      const { stick, root, agent: agentOf } = await enrollByStick(office, state);
      await succeed(office.exporter('verify', stick, '--root-sha256', root.slice(7)));

      await using site = await startSite(paths[sitePart]);
      await using client = openRegistry({ host: site.host, prefix: 'mirror' }, { plainHttp: [], env: {} });
      const agent = agentOf(client);
      const importStick = async () => {
        await using medium = await openMedium(stick);
        return await judgeOffer(agent, await readOffer(agent, medium));
      };
      expect((await importStick()).images.brought).toBeGreaterThan(0);
      expect((await importStick()).images.brought).toBe(0);

      await findAll(`${site.host}/mirror`, 'agent');

      // The exporter fills a registry in the same way.
      const to = ['--to', `oci://${site.host}/pushed`, '--plain-http', site.host];
      await succeed(office.exporter('push', stick, ...to, '--root-sha256', root.slice(7)));
      await findAll(`${site.host}/pushed`, 'exporter');
    });
  });
}
