import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { mirrorPath } from '#bundles/transport/registry/mirror-path';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { judgeOffer } from '../../../agent/acquire/offers/judge-offer.ts';
import { readOffer } from '../../../agent/acquire/offers/read-offer.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { loadKey } from '../../../agent/hub/agent-key.ts';
import { exportReports } from '../../../agent/report/export-reports.ts';
import { EXAMPLE_IMAGES } from '../../../examples/make-images.ts';
import { openFast } from '../../agent/world.ts';
import { policyOf } from '../../bundles/trust/images/sign-image.ts';
import { newKey } from '../../bundles/trust/root/new-key.ts';
import { verdict } from '../../bundles/verdict.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { type Outcome } from '../../harness/run/run-command.ts';
import {
  enrollByStick,
  REGISTRIES,
  type RegistryCompany,
  startRegistryCompany,
  succeed,
} from './registry-company.ts';

/** image-attachments.test.ts has the office on one without the referrers API, and the site on one with it. */
for (const [part, title, start] of LONG ? REGISTRIES : REGISTRIES.slice(1)) {
  describeWith(['cosign', 'skopeo', part], `images signed by cosign in ${title}`, (paths) => {
    let registry: AsyncDisposable & { readonly host: string };
    let office: RegistryCompany;
    const at = (...names: readonly string[]) => office.at(...names);
    const cosign = (...words: readonly string[]): Promise<Outcome> => office.tool(paths.cosign, ...words);
    const imageOf = (name: string): string =>
      (EXAMPLE_IMAGES.find((image) => image.includes(`/${name}:`)) ?? '').replace(/^[^/]+/, registry.host);
    const sign = async (name: string, key = 'builder'): Promise<void> => {
      const services = ['--signing-config', 'services.json', '--trusted-root', 'authorities.json'];
      await succeed(cosign('sign', '--key', `${key}.key`, '--yes', ...services, await office.topOf(name)));
    };
    const signInOlderForm = async (reference: string): Promise<void> => {
      const words = ['--new-bundle-format=false', '--use-signing-config=false', '--tlog-upload=false'];
      await succeed(cosign('sign', '--key', 'builder.key', '--yes', ...words, reference));
    };
    const build = (...words: readonly string[]) =>
      office.run('build', '--platform', 'platform', '--keys', 'keys', '--layout', 'releases', ...words);
    beforeAll(async () => {
      registry = await start(paths[part as keyof typeof paths]);
      office = await startRegistryCompany(registry, paths.skopeo);
      await succeed(cosign('signing-config', 'create', '--out', 'services.json'));
      await succeed(cosign('trusted-root', 'create', '--out', 'authorities.json'));
      for (const name of ['builder', 'stranger'])
        await succeed(cosign('generate-key-pair', '--output-key-prefix', name));
      await office.writePolicy('**');
      await succeed(office.run('images', 'lock', '--platform', 'platform'));
    });
    afterAll(async () => {
      await registry?.[Symbol.asyncDispose]();
      await office?.[Symbol.asyncDispose]();
    });

    it('are held when they are unsigned, with line, key and what to do', async () => {
      await sign('order-api', 'stranger');
      const { code, stdout, stderr } = await build('--pull-images', '--environment', 'prod');
      expect(code).toBe(8);
      const said = stdout + stderr;
      expect(said).toMatch(/line-control\/kubernetes\/deployment\.yaml:\d+:\d+: IMAGE_UNSIGNED/);
      expect(said).toMatch(
        /has no signature, and must have one by the key of ImagePolicy ours \([0-9a-f]{16}\)/,
      );
      expect(said).toMatch(/order-api@sha256:[0-9a-f]{64} is signed, but not by the key of ImagePolicy ours/);
      expect(said).toContain('cosign sign --key');
      await rm(at('releases'), { recursive: true, force: true });
    });

    it('are built with their signatures in the closure, of both forms and of an index', async () => {
      await sign('order-api');
      await sign('telemetry');
      const lock = await readFile(at('platform/images.lock.yaml'), 'utf8');
      // One platform alone runs it, so the lock names that platform's manifest and notes the index.
      const pinned = new RegExp(`${imageOf('line-control')}"?: (\\S+)@(sha256:\\S+)`).exec(lock);
      expect(lock).toContain(`${pinned?.[2]}: ${(await office.topOf('line-control')).split('@')[1]}`);
      await signInOlderForm(await office.topOf('line-control'));
      await succeed(build('--pull-images', '--environment', 'prod'));
      const { config } = await office.bundleOf();
      expect(config.critical).toEqual(['imagePolicy', 'site-fields']);
      expect(config.imagePolicy?.map(({ name }) => name)).toEqual(['ours']);
      const names = (one: string) => config.closure.find(({ names: [name] = [] }) => name?.includes(one));
      // The signature and the index that it is about.
      expect(names('line-control')?.attachments).toHaveLength(2);
      expect(names('telemetry')?.attachments).toHaveLength(1);
    });

    it('are built into the same bundle again after others have signed, without asking a registry', async () => {
      const before = (await office.bundleOf()).digest;
      await signInOlderForm(await office.topOf('line-control'));
      await sign('telemetry', 'stranger');
      await sign('telemetry');
      const said = await succeed(build('--pull-images', '--environment', 'prod'));
      expect(said).toContain('unchanged');
      expect((await office.bundleOf()).digest).toBe(before);
      await succeed(
        office.run(
          'build',
          '--platform',
          'platform',
          '--keys',
          'keys',
          '--layout',
          'again',
          '--images',
          'releases',
          '--environment',
          'prod',
        ),
      );
      expect((await office.bundleOf('again')).digest).toBe(before);
    });

    it('are published with their signatures, which cosign finds', async () => {
      await succeed(
        office.run('publish', '--layout', 'releases', '--registry', `oci://${registry.host}/fleet`),
      );
      const telemetry = (await office.topOf('telemetry')).split('@')[1];
      const image = `${registry.host}/fleet/prod/factory-line@${telemetry}`;
      const words = ['--key', 'builder.pub', '--insecure-ignore-tlog', '--allow-insecure-registry'];
      expect(await succeed(cosign('verify', ...words, image))).toContain('signatures were verified');
      const wrong = ['--key', 'stranger.pub', ...words.slice(2)];
      expect((await cosign('verify', ...wrong, image)).code).not.toBe(0);
    });

    it('are verified again at a site without network, and arrive in its registry with their signatures', async () => {
      using state = openFast(at('state'), { create: true });
      const { stick, root, agent: agentOf } = await enrollByStick(office, state);
      const verified = await succeed(
        office.exporter('verify', stick, '--details', '--root-sha256', root.slice(7)),
      );
      expect(verified).toMatch(/\d images signed as the policies ask/);
      expect(verified).toMatch(/built \S+ by fleet-scheduler\/\S+ from candidate sha256:[0-9a-f]{64}/);
      expect(verified).toMatch(/ {2}platform: \S+ at /);

      await using client = openRegistry(
        { host: registry.host, prefix: 'mirror' },
        { plainHttp: [], env: {} },
      );
      const agent = agentOf(client);
      const importStick = async (more: Partial<Agent> = {}) => {
        await using medium = await openMedium(stick);
        return await judgeOffer({ ...agent, ...more }, await readOffer(agent, medium));
      };
      // The site's owner trusts another key, and has the last word.
      const own = { imagePolicy: [policyOf(newKey(), { match: ['**'] })] };
      expect(await verdict(() => importStick(own))).toBe('IMAGE_UNSIGNED');
      expect((await importStick()).images.brought).toBeGreaterThan(0);

      const words = ['--key', 'builder.pub', '--insecure-ignore-tlog', '--allow-insecure-registry'];
      const name = await office.topOf('telemetry');
      const mirrored = `${registry.host}/mirror/${mirrorPath(name)}@${name.split('@')[1]}`;
      expect(await succeed(cosign('verify', ...words, mirrored))).toContain('signatures were verified');
      // Killed, run again: nothing is missing, and nothing is brought twice.
      expect((await importStick()).images.brought).toBe(0);

      // What a delta leaves out is judged from the store.
      const { packages } = await importMedium(agent, stick);
      expect(packages.map(({ outcome }) => outcome)).toContain('failed');
      await exportReports(agent, await loadKey(agent), stick);
      await office.company.edit(
        'apps/line-control/kubernetes/deployment.yaml',
        (text) => `${text}\n# Another bundle.\n`,
      );
      await office.company.edit('apps/line-control/kubernetes/deployment.yaml', (text) =>
        text.replace(/replicas: \d+/, 'replicas: 7'),
      );
      await succeed(build('--pull-images', '--environment', 'prod'));
      await succeed(
        office.exporter('create', '--from', 'releases', '--site', 'plant-7', '--to', stick, '--for', stick),
      );
      const [listed] = parseMedium(await readFile(join(stick, 'fleet/medium.json'))).bundles;
      const { config } = await readBundle((await openLayout(at('releases'))).blobs, listed?.digest ?? root);
      const evidence = new Set(config.closure.flatMap(({ attachments = [] }) => attachments));
      expect(evidence.size).toBeGreaterThan(2);
      const assumed = new Set(listed?.assumed.map(({ digest }) => digest));
      expect([...evidence].filter((digest) => !assumed.has(digest))).toEqual([]);
      expect(await succeed(office.exporter('verify', stick, '--root-sha256', root.slice(7)))).toContain(
        'expected at the site, signatures of images too',
      );
      expect(await verdict(() => importStick(own))).toBe('IMAGE_UNSIGNED');
      expect(await verdict(() => importStick())).toBe('ACCEPT');
    });
  });
}
