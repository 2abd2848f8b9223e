import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import { digestOf } from '#bundles/digest';
import { findReference, openLayout, referenceOf } from '#bundles/formats/layout/layout';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { mirrorPath } from '#bundles/transport/registry/mirror-path';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { judgeOffer } from '../../../agent/acquire/offers/judge-offer.ts';
import { readOffer } from '../../../agent/acquire/offers/read-offer.ts';
import { enroll } from '../../../agent/enroll/enroll.ts';
import { registryProvider } from '../../../agent/images/registry/registry-provider.ts';
import { EXAMPLE_IMAGES } from '../../../examples/make-images.ts';
import { folderTarget } from '../../agent/folder-target.ts';
import { openFast, testAgent, testEdge } from '../../agent/world.ts';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { type Company, makeCompany } from '../../harness/fleets/company.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startOciRegistry } from '../../harness/neighbours/oci-registry.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { type Outcome, runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const HOST = 'registry.halden.example';
const MANIFESTS = [
  'apps/telemetry/collector/deployment.yaml',
  'apps/telemetry/edge/deployment.yaml',
  'apps/line-control/kubernetes/deployment.yaml',
  'apps/order-api/kubernetes/deployment.yaml',
];
const CHANNEL = { environment: 'prod', clusterType: 'factory-line' };
const OLDER = ['--new-bundle-format=false', '--use-signing-config=false', '--tlog-upload=false'];
const SERVICES = ['--signing-config', 'services.json', '--trusted-root', 'authorities.json'];
const VERIFYING = ['--key', 'builder.pub', '--insecure-ignore-tlog', '--allow-insecure-registry'];

const KINDS = [
  ['dockerRegistry', 'a registry without the referrers API', startRegistry],
  ['ociregistry', 'a registry with the referrers API', startOciRegistry],
] as const;

for (const [part, title, start] of KINDS) {
  describeWith(['cosign', 'oras', 'skopeo', part], `what lies beside images in ${title}`, (paths) => {
    let registry: AsyncDisposable & { readonly host: string };
    let folder: TemporaryDirectory;
    let company: Company;
    const at = (...names: readonly string[]) => join(folder.path, ...names);
    const env = (): NodeJS.ProcessEnv => ({ ...process.env, HOME: folder.path });
    const run = (...words: readonly string[]): Promise<Outcome> => runScheduler(folder.path, words, env());
    const exporter = (...words: readonly string[]): Promise<Outcome> =>
      runExporter(folder.path, words, env());
    const tool =
      (path: string) =>
      async (...words: readonly string[]): Promise<string> =>
        succeed(
          runCommand([path, ...words], {
            cwd: folder.path,
            env: { PATH: process.env['PATH'], HOME: folder.path, COSIGN_PASSWORD: 'builder' },
          }),
        );
    const cosign = tool(paths.cosign);
    const oras = tool(paths.oras);
    const succeed = async (outcome: Promise<Outcome>): Promise<string> => {
      const { code, stdout, stderr } = await outcome;
      expect(code, stdout + stderr).toBe(0);
      return stdout;
    };
    /** The digest that the tag names: of an index of two platforms. */
    const digestIn = async (name: string): Promise<string> => {
      const tag = EXAMPLE_IMAGES.find((image) => image.includes(`/${name}:`)) ?? '';
      return findReference(await openLayout(at('images')), tag)?.digest ?? '';
    };
    const topOf = async (name: string): Promise<string> => `${registry.host}/${name}@${await digestIn(name)}`;
    const lock = (...words: readonly string[]) =>
      succeed(run('images', 'lock', '--platform', 'platform', ...words));
    const lockFile = () => readFile(at('platform/images.lock.yaml'), 'utf8');
    const build = (layout = 'releases') => {
      const words = ['--platform', 'platform', '--keys', 'keys', '--layout', layout, '--pull-images'];
      return succeed(run('build', ...words, '--environment', 'prod'));
    };
    const bundleOf = async (layout = 'releases'): Promise<Bundle> => {
      const { blobs, manifests } = await openLayout(at(layout));
      const prefix = `${CHANNEL.environment}/${CHANNEL.clusterType}:b-`;
      const found = manifests.filter((one) => referenceOf(one)?.startsWith(prefix));
      expect(found).toHaveLength(1);
      return readBundle(blobs, digestOf(await readFile(blobs.path(found[0]?.digest ?? digestOf('')))));
    };

    /** What was attached at the office, found at the site by the tools that attached it. */
    const findAll = async (prefix: string, into: string): Promise<void> => {
      const name = await topOf('telemetry');
      const mirrored = `${prefix}/${mirrorPath(name)}@${await digestIn('telemetry')}`;
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
      registry = await start(paths[part as keyof typeof paths]);
      folder = await temporaryDirectory('attachments');
      company = await makeCompany(folder.path);
      for (const image of EXAMPLE_IMAGES) {
        const target = `docker://${image.replace(HOST, registry.host)}`;
        const words = ['copy', '--all', '--preserve-digests', '--dest-tls-verify=false'];
        await runOrFail([paths.skopeo, ...words, `oci:${at('images')}:${image}`, target]);
      }
      for (const file of MANIFESTS) await company.edit(file, (text) => text.replaceAll(HOST, registry.host));
      await rm(at('platform/images.lock.yaml'));
      await cosign('signing-config', 'create', '--out', 'services.json');
      await cosign('trusted-root', 'create', '--out', 'authorities.json');
      await cosign('generate-key-pair', '--output-key-prefix', 'builder');
      // Larger than any signature may be.
      const sbom = { spdxVersion: 'SPDX-2.3', comment: randomBytes(200_000).toString('hex') };
      await writeFile(at('sbom.json'), JSON.stringify(sbom));
      const pem = (await readFile(at('builder.pub'), 'utf8')).trimEnd().replaceAll('\n', '\n      ');
      await writeFile(
        at('platform/base/image-policy.yaml'),
        `apiVersion: fleet-ferry/v1alpha1
kind: ImagePolicy
metadata:
  name: ours
spec:
  match: ["${registry.host}/telemetry"]
  keys:
    - |
      ${pem}
`,
      );
      const telemetry = await topOf('telemetry');
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
      await folder?.[Symbol.asyncDispose]();
    });

    it('is locked with the image, by digest and tag', async () => {
      await lock();
      const hex = (await digestIn('telemetry')).slice('sha256:'.length);
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

    it('is in the closure, and what is added later changes neither lock nor bundle until somebody says so', async () => {
      await build();
      const before = await bundleOf();
      const image = before.config.closure.find(({ names: [name] = [] }) => name?.includes('/telemetry@'));
      expect(image?.attachments).toHaveLength(6);
      expect(Object.keys(image?.attachmentTags ?? {})).toHaveLength(3);
      const carried = new Set(before.config.closure.map(({ digest }) => digest));
      expect(image?.attachments?.filter((digest) => !carried.has(digest))).toEqual([]);

      const locked = await lockFile();
      await writeFile(at('note.txt'), 'reviewed');
      const telemetry = await topOf('telemetry');
      await oras('attach', '--plain-http', '--artifact-type', 'text/note', telemetry, 'note.txt:text/plain');
      await lock();
      expect(await lockFile()).toBe(locked);
      await build('again');
      expect((await bundleOf('again')).digest).toBe(before.digest);
      await lock('--update');
      const renewed = await lockFile();
      expect(renewed.split('\n')).toHaveLength(locked.split('\n').length + 1);
    });

    it('is left out where the lock file says how much is taken', async () => {
      const locked = await lockFile();
      const small = locked.replace(/^spec:\n/m, 'spec:\n  take: {attachments: all, maxBytes: 100000}\n');
      await writeFile(at('platform/images.lock.yaml'), small);
      const said = await run('images', 'lock', '--platform', 'platform', '--update');
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

    it('comes by stick into the registry of a site, where cosign and oras find it without a network', async () => {
      const stick = at('stick');
      await mkdir(stick);
      using state = openFast(at('state'), { create: true });
      const root = digestOf(await readFile(at('keys/1.root.json')));
      const wish = {
        fleet: 'halden',
        site: 'plant-7',
        agent: 'line-1',
        channel: CHANNEL,
        labels: {},
        pinnedRoot: root,
      };
      // The scheduler's clock is the machine's.
      const edge = testEdge(new Date());
      await enroll(state, edge, wish, stick);
      await mkdir(at('hub'), { recursive: true });
      const enrolling = ['--keys', 'keys', '--layout', 'releases', '--db', 'hub/hub.db'];
      await succeed(run('sites', 'enroll', stick, ...(await acceptRequests(stick)), ...enrolling));
      await succeed(exporter('create', '--from', 'releases', '--site', 'plant-7', '--to', stick));
      await succeed(exporter('verify', stick, '--root-sha256', root.slice(7)));

      await using site = await start(paths[part as keyof typeof paths]);
      await using client = openRegistry({ host: site.host, prefix: 'mirror' }, { plainHttp: [], env: {} });
      const target = { ...folderTarget(at('machine')), kind: 'kubernetes' as const };
      const agent = testAgent(state, folder.path, {
        targets: [target],
        images: [registryProvider(client)],
        edge,
      });
      const importStick = async () => {
        await using medium = await openMedium(stick);
        return await judgeOffer(agent, await readOffer(agent, medium));
      };
      expect((await importStick()).images.brought).toBeGreaterThan(0);
      expect((await importStick()).images.brought).toBe(0);

      await findAll(`${site.host}/mirror`, 'agent');

      // The exporter fills a registry in the same way.
      const to = ['--to', `oci://${site.host}/pushed`, '--plain-http', site.host];
      await succeed(exporter('push', stick, ...to, '--root-sha256', root.slice(7)));
      await findAll(`${site.host}/pushed`, 'exporter');
    });
  });
}
