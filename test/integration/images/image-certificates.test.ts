import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { mirrorPath } from '#bundles/transport/registry/mirror-path';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { judgeOffer } from '../../../agent/acquire/offers/judge-offer.ts';
import { readOffer } from '../../../agent/acquire/offers/read-offer.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { openFast } from '../../agent/world.ts';
import { verdict } from '../../bundles/verdict.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { newSigstore, type Sigstore } from '../../harness/sigstore/sigstore.ts';
import { identityToken, type SigstoreServer, startSigstore } from '../../harness/sigstore/sigstore-server.ts';
import {
  enrollByStick,
  REGISTRIES,
  type RegistryCompany,
  startRegistryCompany,
  succeed,
} from './registry-company.ts';

const ISSUER = 'https://token.actions.example';
const IDENTITY = 'https://git.example/halden/images/.github/workflows/release.yml@refs/tags/v1';
const WHO = { identity: IDENTITY, issuer: ISSUER };
const STRANGER = { identity: 'https://git.example/stranger', issuer: ISSUER };

for (const [part, title, start] of LONG ? REGISTRIES : REGISTRIES.slice(1)) {
  const parts = ['cosign', 'cosign2', 'skopeo', part] as const;
  describeWith(parts, `images signed by certificate in ${title}`, (paths) => {
    let registry: AsyncDisposable & { readonly host: string };
    let office: RegistryCompany;
    let sigstore: Sigstore;
    let server: SigstoreServer;
    const at = (...names: readonly string[]) => office.at(...names);

    const sign = async (name: string, who = WHO): Promise<void> => {
      const words = ['--signing-config', 'services.json', '--trusted-root', 'trusted_root.json', '--yes'];
      const token = ['--identity-token', identityToken(who)];
      await succeed(office.tool(paths.cosign, 'sign', ...token, ...words, await office.topOf(name)));
    };
    /** cosign 2, whose signatures lie under the tag `sha256-<hex>.sig`. Its authorities are in variables of the environment. */
    const cosign2 = (...words: readonly string[]) => {
      const files = Object.keys(sigstore.filesOfCosign2).map((name) => `${name}=${at(name)}`);
      return office.tool('env', ...files, paths.cosign2, ...words);
    };
    const signInOlderForm = async (name: string): Promise<void> => {
      const words = ['--fulcio-url', server.url, '--rekor-url', server.url, '--yes'];
      const token = ['--identity-token', identityToken(WHO)];
      await succeed(cosign2('sign', ...token, ...words, await office.topOf(name)));
    };
    const asked = ({ identity, issuer } = WHO) => [
      '--certificate-identity',
      identity,
      '--certificate-oidc-issuer',
      issuer,
      '--allow-insecure-registry',
    ];
    const verify = (reference: string, who = WHO) =>
      office.tool(paths.cosign, 'verify', '--trusted-root', 'trusted_root.json', ...asked(who), reference);
    const verifyInOlderForm = (reference: string, who = WHO) =>
      cosign2('verify', '--offline', ...asked(who), reference);
    const writePolicy = (identity: string, trustedRoot = sigstore.trustedRoot()): Promise<void> =>
      writeFile(
        at('platform/base/image-policy.yaml'),
        `apiVersion: fleet-ferry/v1alpha1
kind: ImagePolicy
metadata:
  name: ours
spec:
  match: ["${registry.host}/**"]
  certificates:
    signers: [{issuer: "${ISSUER}", identity: "${identity}"}]
    trustedRoot: |
      ${trustedRoot}
`,
      );
    const build = () => {
      const words = ['--platform', 'platform', '--keys', 'keys', '--layout', 'releases', '--pull-images'];
      return office.run('build', ...words, '--environment', 'prod');
    };

    beforeAll(async () => {
      registry = await start(paths[part]);
      office = await startRegistryCompany(registry, paths.skopeo);
      sigstore = await newSigstore();
      server = await startSigstore(sigstore);
      await writeFile(at('services.json'), server.signingConfig);
      await writeFile(at('trusted_root.json'), sigstore.trustedRoot());
      for (const [name, text] of Object.entries(sigstore.filesOfCosign2)) await writeFile(at(name), text);
      await writePolicy('https://git.example/halden/**');
      await succeed(office.run('images', 'lock', '--platform', 'platform'));
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      await registry?.[Symbol.asyncDispose]();
      await office?.[Symbol.asyncDispose]();
    });

    it('are held when another identity signed them', async () => {
      await sign('order-api', STRANGER);
      const { code, stdout, stderr } = await build();
      expect(code).toBe(8);
      const said = stdout + stderr;
      expect(said).toContain(`: its certificate is for "${STRANGER.identity}" by "${ISSUER}"`);
      expect(said).toMatch(
        /has no signature, and must have one by a certificate that ImagePolicy ours names/,
      );
      expect(said).toContain('Sign it: cosign sign 127.0.0.1:');
    });

    it('are built with the signatures of cosign 3 and cosign 2, which verify them, too', async () => {
      await sign('order-api');
      await sign('telemetry');
      await signInOlderForm('line-control');
      for (const [check, name] of [
        [verify, 'telemetry'],
        [verifyInOlderForm, 'line-control'],
      ] as const) {
        expect(await succeed(check(await office.topOf(name)))).toContain('docker-manifest-digest');
        expect((await check(await office.topOf(name), STRANGER)).code).not.toBe(0);
      }
      await succeed(build());
      const { config } = await office.bundleOf();
      expect(config.critical).toContain('imageCertificates');
      expect(JSON.parse(config.imagePolicy?.[0]?.certificates?.trustedRoot ?? '')).toEqual(
        JSON.parse(await readFile(at('trusted_root.json'), 'utf8')),
      );
    });

    it('are verified again at a site without a network, and cosign verifies them in its registry', async () => {
      // Nothing of sigstore can be reached from now on.
      await server[Symbol.asyncDispose]();
      using state = openFast(at('state'), { create: true });
      const { stick, root, agent: agentOf } = await enrollByStick(office, state);
      const verified = office.exporter('verify', stick, '--root-sha256', root.slice(7));
      expect(await succeed(verified)).toMatch(/\d images signed as the policies ask/);
      await using client = openRegistry(
        { host: registry.host, prefix: 'mirror' },
        { plainHttp: [], env: {} },
      );
      const agent = agentOf(client);
      const importStick = async (more: Partial<Agent> = {}) => {
        await using medium = await openMedium(stick);
        return await judgeOffer({ ...agent, ...more }, await readOffer(agent, medium));
      };
      const own = (trustedRoot: string, identity = IDENTITY): Partial<Agent> => ({
        imagePolicy: [
          {
            name: '1 of this machine',
            match: ['**'],
            except: [],
            keys: [],
            certificates: { trustedRoot, signers: [{ issuer: ISSUER, identity }] },
          },
        ],
      });
      // The owner of the site has the last word: another identity, or the root of another instance.
      expect(await verdict(() => importStick(own(sigstore.trustedRoot(), STRANGER.identity)))).toBe(
        'IMAGE_UNSIGNED',
      );
      expect(await verdict(async () => importStick(own((await newSigstore()).trustedRoot())))).toBe(
        'IMAGE_UNSIGNED',
      );
      expect((await importStick(own(sigstore.trustedRoot()))).images.brought).toBeGreaterThan(0);
      const top = await office.topOf('telemetry');
      const mirrored = `${registry.host}/mirror/${mirrorPath(top)}@${top.split('@')[1]}`;
      expect(await succeed(verify(mirrored))).toContain('docker-manifest-digest');
    });
  });
}
