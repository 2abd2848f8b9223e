import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { VERSION } from '#bundles/version';
import { buildDebs } from '../../../bundling/debian/build-debs.ts';
import { describeOnDebians } from '../../harness/hosts/describe-on-debians.ts';
import { THIN_NODE_BIND, thinNode } from '../../harness/hosts/thin-node.ts';
import type { TestPackage } from '../../harness/fleets/signed-medium.ts';
import { copyBuiltPrograms } from '../../harness/run/built-programs.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { nothing, type SiteHost, startSiteHost } from './debs-host/site-host.ts';
import { packageOfDebs } from './debs-host/test-deb.ts';

/** 2026-11-24. */
const EPOCH = 1_795_478_400;

/** The agent's own package, which upgrades the agent that installs it, is in e2e/plugged-in. */
describeOnDebians([], 'fleet-export and fleet-node as packages of a release', ({ base, debian }) => {
  let site: SiteHost;
  let folder: TemporaryDirectory;
  beforeAll(async () => {
    folder = await temporaryDirectory('product-packages');
    await copyBuiltPrograms(join(folder.path, 'programs'));
    site = await startSiteHost(`product-${debian}`, base, [THIN_NODE_BIND]);
  });
  afterAll(async () => {
    await site?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  const release = async (version: string, node: string): Promise<TestPackage> => {
    const built = await buildDebs({
      programs: join(folder.path, 'programs'),
      out: join(folder.path, `${version}-${node}`),
      epoch: EPOCH,
      compression: 'none',
      version,
      names: ['fleet-export', 'fleet-node'],
      node: { ...(await thinNode(folder.path)), version: node },
    });
    const debs = await Promise.all(built.map((file) => readFile(file)));
    return packageOfDebs('exporter', debs, (name) => (name === 'fleet-node' ? { asDependency: true } : {}));
  };
  const installed = () => site.dpkg('fleet-export', 'fleet-node');
  const starts = async () =>
    expect(await site.sh('fleet-export --version')).toContain(`fleet-export/${VERSION} `);

  it('are installed, upgraded together, corrected, rolled back and removed', async () => {
    await site.applied(await release('0.0.8', '24.1.0'));
    expect(await installed()).toBe('ii fleet-export 0.0.8, ii fleet-node 24.1.0-1');
    await starts();

    await site.applied(await release('0.0.9', '24.2.0'));
    expect(await installed()).toBe('ii fleet-export 0.0.9, ii fleet-node 24.2.0-1');
    await starts();

    // What an administrator removes comes back.
    await site.sh('dpkg --remove --force-depends fleet-node');
    expect((await site.exec('fleet-export --version')).stderr).toContain('TOOL_MISSING');
    const corrected = await site.agent('run --once');
    expect(corrected.code, corrected.stdout + corrected.stderr).toBe(0);
    expect(await installed()).toBe('ii fleet-export 0.0.9, ii fleet-node 24.2.0-1');
    await starts();

    const unhealthy: TestPackage = {
      ...(await release('0.1.0', '24.3.0')),
      checks: [{ type: 'exec', name: 'starts', argv: ['/bin/false'], timeoutSeconds: 5 }],
    };
    const { code, output } = await site.apply(unhealthy);
    expect([code, output]).toEqual([7, expect.stringContaining('CHECK_FAILED')]);
    expect(await installed()).toBe('ii fleet-export 0.0.9, ii fleet-node 24.2.0-1');
    await starts();

    await site.applied(nothing);
    expect(await installed()).toBe('');
    expect((await site.exec('command -v fleet-export')).code).not.toBe(0);
  });
});
