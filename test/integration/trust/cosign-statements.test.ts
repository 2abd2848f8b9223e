import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { canonicalBytes } from '#bundles/json/canonical';
import { digestOf, hexOf } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { PREDICATES, type StatementKind } from '#bundles/media-types';
import { signReceipt } from '#bundles/trust/reports/receipt';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { parseStatement, verifyStatement } from '#bundles/trust/statements/verify-statement';
import { formatTime } from '#bundles/time';
import { signSite } from '../../../scheduler/hub/sites/sign-site.ts';
import { signLease } from '../../../scheduler/release/lease/renew-lease.ts';
import { readRelease } from '../../../scheduler/load/releases/read-release.ts';
import { signRelease } from '../../../scheduler/release/sign/sign-release.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startOciRegistry } from '../../harness/neighbours/oci-registry.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { type Outcome, runCommand, succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { fleetPlatform, ours } from '../../scheduler/fleet-platform.ts';
import { chain, happenings, reportOf, testAgent } from '../../scheduler/hub/test-hub.ts';
import {
  AUDIENCE,
  BUNDLE,
  bundlePayload,
  type Holder,
  NOW,
  newWorld,
  REVOKES_NOTHING,
  releasePayload,
  writeKeys,
} from '../../scheduler/keys/signer/signer-world.ts';

const CHANNEL = { environment: 'prod', clusterType: 'press' };

describeWith(['cosign'], 'stock cosign and our statements', ({ cosign }) => {
  let folder: TemporaryDirectory;
  let world: Awaited<ReturnType<typeof newWorld>>;
  const at = (name: string): string => join(folder.path, name);
  const options = () => ({
    cwd: folder.path,
    env: { PATH: process.env['PATH'], HOME: folder.path, COSIGN_PASSWORD: 'approver' },
  });
  const run = (words: string): Promise<Outcome> => runCommand([cosign, ...words.split(' ')], options());
  const fine = async (words: string): Promise<void> => {
    const { code, stderr } = await run(words);
    expect([code, stderr]).toEqual([0, expect.any(String) as string]);
  };
  const program = (...words: readonly string[]): Promise<Outcome> =>
    runScheduler(
      folder.path,
      [...words, '--layout', 'layout', '--now', '2026-11-21T08:00:00Z'],
      options().env,
    );
  const scheduler = (...words: readonly string[]): Promise<Outcome> => program(...words, '--keys', 'keys');

  beforeAll(async () => {
    folder = await temporaryDirectory('cosign');
    world = await newWorld(2);
    for (const [name, key] of Object.entries(world.keys)) await writeFile(at(`${name}.pub`), key.public.pem);
    await writeFile(at('approver.pem'), world.pems.approver, { mode: 0o600 });
    await fine('signing-config create --out sc.json');
    await fine('trusted-root create --out tr.json');
    await fine('import-key-pair --key approver.pem --output-key-prefix approver-cosign');
    const holders: readonly Holder[] = ['bundle', 'release'];
    await writeKeys(world, at('keys'), holders);
    await writeFiles(folder.path, {
      ...fleetPlatform(),
      'platform/fleet.yaml': ours('Fleet', 'acme', 'spec:\n  environments: [{name: qa}, {name: prod}]\n'),
    });
  });
  afterAll(() => folder?.[Symbol.asyncDispose]());

  const verifyBlob = async (kind: StatementKind, statement: Buffer, key: string): Promise<Outcome> => {
    await writeFile(at(`${kind}.json`), statement);
    const { subjects } = parseStatement(parseEnvelope(statement, kind).payload, kind);
    const claim = `--type ${PREDICATES[kind]} --digest ${hexOf(subjects[0]?.digest ?? digestOf(''))} --digestAlg sha256`;
    return run(`verify-blob-attestation --insecure-ignore-tlog --key ${key} ${claim} --bundle ${kind}.json`);
  };

  it('each verify with the key of their role, and with no other', async () => {
    const { keys, root } = world;
    const predicate = {
      audience: AUDIENCE,
      version: 1,
      issuedAt: formatTime(NOW),
      expires: '2026-12-21T08:00:00Z',
      critical: [],
    };
    const site = await signSite(
      {
        site: 'plant-7',
        version: 1,
        agents: [],
        values: { fleet: 'acme', site: 'plant-7', values: {}, agents: {} },
        sealed: [],
      },
      root,
      keys.release,
      NOW,
    );
    const { statement: release } = await signRelease(
      {
        bundles: [{ kind: 'host', digest: BUNDLE }],
        revocations: canonicalBytes(REVOKES_NOTHING),
        bundleStatements: [],
        previous: [],
      },
      JSON.parse(parseStatementText(releasePayload())),
      keys.release,
    );
    const agent = testAgent('plant-7/press', keys.root);
    const receipt = {
      fleet: 'acme',
      agent: agent.id,
      from: 1,
      to: 2,
      head: digestOf('head'),
      time: formatTime(NOW),
    };
    const statements: readonly (readonly [StatementKind, Buffer, Holder])[] = [
      ['bundle', await signPayload(bundlePayload(), keys.bundle), 'bundle'],
      ['release', release, 'release'],
      ['site', site.statement, 'release'],
      ['lease', await signLease(digestOf(releasePayload()), predicate, keys.lease, []), 'lease'],
      ['report', (await reportOf(agent, chain(agent, happenings(2)))).statement, 'root'],
      ['receipt', await signReceipt(digestOf('events'), receipt, keys.receipt), 'receipt'],
    ];
    for (const [kind, statement, holder] of statements) {
      expect([kind, (await verifyBlob(kind, statement, `${holder}.pub`)).code]).toEqual([kind, 0]);
      expect((await verifyBlob(kind, statement, 'audit.pub')).code).not.toBe(0);
    }
  });

  const attest = (statement: string, words = ''): Promise<void> =>
    fine(
      `attest-blob --key approver-cosign.key -y --signing-config sc.json --trusted-root tr.json ${statement} --bundle approval/b.sigstore.json${words}`,
    );
  const approval = () => readFile(at('approval/b.sigstore.json'));

  it('exported for approval and signed by cosign release the bundle with both signatures', async () => {
    const built = await scheduler('build', '--platform', 'platform', '--environment', 'prod');
    expect([built.code, built.stdout]).toEqual([0, expect.stringContaining('prod/press') as string]);
    expect(built.stdout).toContain('awaiting approval');
    const listed = await scheduler('approvals');
    expect(listed.stdout).toContain('prod/press: 1 of 2 bundle signers have signed');
    const exported = await scheduler('approvals', 'export', 'prod/press', '--out', 'approval');
    expect(exported.stdout).toContain('cosign attest-blob --key approver.key -y');
    const payload = await readFile(at('approval/st.json'));
    expect(listed.stdout).toContain(hexOf(digestOf(payload)));

    // Its own form of a statement (--predicate) is of in-toto's version 0.1, and not what waits.
    await writeFile(at('predicate.json'), '{}');
    await attest(`--predicate predicate.json --type ${PREDICATES.bundle}`, ' approval/st.json');
    expect(await scheduler('approve', 'prod/press', '--bundle', 'approval/b.sigstore.json')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('PAYLOAD_MISMATCH') as string,
    });
    const odd = await approval();
    expect(() =>
      verifyStatement([odd], { keys: [world.keys.approver.public], threshold: 1 }, PREDICATES.bundle, 'it'),
    ).toThrow(expect.objectContaining({ code: 'SCHEMA' }) as Error);

    // A signature over the file as a blob is not a statement at all.
    await fine(
      'sign-blob --key approver-cosign.key -y --signing-config sc.json --trusted-root tr.json --bundle approval/b.sigstore.json approval/st.json',
    );
    expect(await scheduler('approve', 'prod/press', '--bundle', 'approval/b.sigstore.json')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('BUNDLE_FORMAT') as string,
    });

    await attest('--statement approval/st.json');
    const approved = await scheduler('approve', 'prod/press', '--bundle', 'approval/b.sigstore.json');
    expect([approved.code, approved.stdout]).toEqual([
      0,
      expect.stringContaining('prod/press: release 1 released') as string,
    ]);

    const layout = await openLayout(at('layout'));
    const release = await readRelease(layout, CHANNEL, [world.root]);
    const documents = (release?.documents ?? []).filter(({ role }) => role === 'bundle');
    const files = await Promise.all(documents.map(({ digest }) => readBlob(layout.blobs, digest, 65_536)));
    const { signers } = verifyStatement(files, world.root.roles.bundle, PREDICATES.bundle, 'the statement');
    expect(signers).toHaveLength(2);
    const [ours, theirs] = files;
    if (!ours || !theirs) throw new Error('two signatures were expected');
    succeed(await verifyBlob('bundle', ours, 'bundle.pub'));
    succeed(await verifyBlob('bundle', theirs, 'approver.pub'));
    expect((await verifyBlob('bundle', theirs, 'bundle.pub')).code).not.toBe(0);
  });

  it('are not released by an approval that is unknown, changed, or repeated', async () => {
    await writeFiles(folder.path, {
      'apps/shop/host/package.yaml': ours(
        'HostPackage',
        'web',
        'spec:\n  directories: [{path: /opt/shop}]\n',
      ),
    });
    await scheduler('build', '--platform', 'platform', '--environment', 'prod');
    await scheduler('approvals', 'export', 'prod/press', '--out', 'approval');
    const payload = await readFile(at('approval/st.json'));
    const refused = async (file: Buffer): Promise<string> => {
      await writeFile(at('wrong.json'), file);
      const { code, stderr } = await scheduler('approve', 'prod/press', '--bundle', 'wrong.json');
      expect(code).toBe(4);
      return stderr;
    };
    expect(await refused(await signPayload(payload, world.keys.release))).toContain('UNKNOWN_KEY');
    expect(await refused(await signPayload(payload, world.keys.bundle))).toContain('THRESHOLD');
    await attest('--statement approval/st.json');
    const file = JSON.parse((await approval()).toString()) as { dsseEnvelope: { payload: string } };
    file.dsseEnvelope.payload = Buffer.from(payload.toString().replace('press', 'prass')).toString('base64');
    expect(await refused(Buffer.from(JSON.stringify(file)))).toContain('BAD_SIGNATURE');
    succeed(await scheduler('approve', 'prod/press', '--bundle', 'approval/b.sigstore.json'));
    expect(await scheduler('approve', 'prod/press', '--bundle', 'approval/b.sigstore.json')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('NOTHING_AWAITING') as string,
    });
  });

  it('are signed by us with a key file of cosign', async () => {
    await writeFiles(folder.path, {
      'apps/shop/host/package.yaml': ours(
        'HostPackage',
        'web',
        'spec:\n  directories: [{path: /opt/shop/third}]\n',
      ),
    });
    await scheduler('build', '--platform', 'platform', '--environment', 'prod');
    const approved = await scheduler('approve', 'prod/press', '--key', 'approver-cosign.key');
    expect([approved.code, approved.stdout]).toEqual([
      0,
      expect.stringContaining('release 3 released') as string,
    ]);
  });

  const verifyAtRegistry = async (host: string): Promise<void> => {
    await scheduler('build', '--platform', 'platform', '--environment', 'prod');
    // Released by a test before this one, unless it runs alone.
    await scheduler('approve', 'prod/press', '--key', 'approver-cosign.key');
    const where = ['publish', `oci://${host}/fleet`, '--channel', 'prod/press', '--plain-http', host];
    const published = await program(...where);
    expect([published.code, published.stderr]).toEqual([0, expect.any(String) as string]);
    const layout = await openLayout(at('layout'));
    const bundle = (await readRelease(layout, CHANNEL, [world.root]))?.subjects.get('bundle/host');
    const verify = (key: string): Promise<Outcome> =>
      run(
        `verify-attestation --insecure-ignore-tlog --allow-http-registry --key ${key} --type ${PREDICATES.bundle} ${host}/fleet/prod/press@${bundle}`,
      );
    for (const key of ['bundle.pub', 'approver.pub'])
      expect([key, (await verify(key)).code]).toEqual([key, 0]);
    expect((await verify('release.pub')).code).not.toBe(0);
  };

  describeWith(['dockerRegistry'], 'in a registry without referrers', ({ dockerRegistry }) => {
    it('have both signatures of a released bundle', async () => {
      await using registry = await startRegistry(dockerRegistry);
      await verifyAtRegistry(registry.host);
    });
  });

  describeWith(['ociregistry'], 'in a registry with referrers', ({ ociregistry }) => {
    it('have both signatures of a released bundle', async () => {
      await using registry = await startOciRegistry(ociregistry);
      await verifyAtRegistry(registry.host);
    });
  });
});

/** The predicate of a payload as text. */
const parseStatementText = (payload: Buffer): string =>
  JSON.stringify(parseStatement(payload, 'it').predicate);
