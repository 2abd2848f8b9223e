import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { canonicalJson } from '#bundles/json/canonical';
import { openSecretSet } from '#bundles/trust/secrets/open';
import { type AgeIdentity, generateAgeIdentity } from '#bundles/trust/age/recipient';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import type { SecretSet } from '#bundles/trust/secrets/secret-set';
import type { Application } from '../../../scheduler/load/applications/application.ts';
import { renderKustomize } from '../../../scheduler/load/applications/render-kustomize.ts';
import { assembleHost } from '../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { assembleKubernetes } from '../../../scheduler/assemble/bundle/assemble-kubernetes.ts';
import type { AssembledPackage } from '../../../scheduler/assemble/bundle/assembled-package.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { noAccess } from '../../scheduler/assemble/content/no-access.ts';
import { clusterType, renderedPackage, target } from '../../scheduler/model-objects.ts';

const PASSWORD = 'hunter2-and-nobody-else';

describeWith(['age'], 'the age program', ({ age }) => {
  const set: SecretSet = {
    fleet: 'acme',
    site: 'plant-7',
    name: 'mqtt',
    version: 1,
    values: { password: Buffer.from(PASSWORD).toString('base64') },
  };
  let folder: TemporaryDirectory;
  let one: AgeIdentity;
  let two: AgeIdentity;
  const at = (name: string) => join(folder.path, name);

  beforeAll(async () => {
    folder = await temporaryDirectory('age');
    [one, two] = [await generateAgeIdentity(), await generateAgeIdentity()];
    await writeFile(at('two.txt'), `# made by us\n${two.identity}\n`, { mode: 0o600 });
  });
  afterAll(() => folder?.[Symbol.asyncDispose]());

  it('opens sets that we sealed, for each of two recipients', async () => {
    await writeFile(at('ours.age'), await sealSecretSet(set, [one.recipient, two.recipient]));
    const { stdout } = await runOrFail([age, '--decrypt', '--identity', at('two.txt'), at('ours.age')]);
    expect(stdout).toBe(canonicalJson(set));
  });

  it('seals sets that we open', async () => {
    await writeFile(at('plain.json'), canonicalJson(set));
    await runOrFail([age, '--recipient', one.recipient, '--output', at('theirs.age'), at('plain.json')]);
    const sealed = await readFile(at('theirs.age'));
    expect(await openSecretSet(sealed, one.identity, set)).toEqual(set);
    await expect(openSecretSet(sealed, two.identity, set)).rejects.toMatchObject({
      code: 'SECRET_UNREADABLE',
    });
  });

  it('does not open sets that were sealed to others', async () => {
    await writeFile(at('others.age'), await sealSecretSet(set, [one.recipient]));
    const { code, stdout } = await runCommand([age, '--decrypt', '-i', at('two.txt'), at('others.age')]);
    expect(code).not.toBe(0);
    expect(stdout).toBe('');
  });
});

const place = { file: 'workload.yaml', line: 1, column: 1 };
const rendered = (on: 'kubernetes' | 'host') =>
  renderedPackage(
    clusterType('edge', { reconciler: 'flux', target: on, offline: true }),
    target('shop/web', { at: place }),
    { namespace: 'dev-shop' },
  );

const applicationOf = (files: Readonly<Record<string, string>>): Application => ({
  shown: 'app/',
  files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
});

describeWith(['sops', 'kustomize'], 'the SOPS program', ({ sops, kustomize }) => {
  let folder: TemporaryDirectory;
  let site: AgeIdentity;
  const at = (name: string) => join(folder.path, name);
  const env = () => ({ PATH: process.env['PATH'], HOME: folder.path, SOPS_AGE_KEY: site.identity });
  const run = (words: readonly string[]) =>
    runCommand([sops, '--disable-version-check', ...words], { cwd: folder.path, env: env() });
  const encrypt = async (
    name: string,
    text: string,
    more: readonly string[] = ONLY_VALUES,
  ): Promise<string> => {
    await writeFile(at(name), text);
    const { code, stdout, stderr } = await run(['encrypt', '--age', site.recipient, ...more, at(name)]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toContain(PASSWORD);
    return stdout;
  };
  const decrypt = async (name: string, text: string, more: readonly string[] = []) => {
    await writeFile(at(name), text);
    return run(['decrypt', ...more, at(name)]);
  };
  const ONLY_VALUES = ['--encrypted-regex', '^(data|stringData)$'];
  const SECRET = `apiVersion: v1\nkind: Secret\nmetadata:\n    name: db\nstringData:\n    # for the shop\n    password: ${PASSWORD}\n    port: "0644"\n`;
  const textOf = (made: AssembledPackage, path: string): string =>
    made.files.find((file) => file.path === path)?.bytes.toString() ?? '';
  const assemble = (application: Application) =>
    assembleKubernetes(rendered('kubernetes'), application, new Map());

  beforeAll(async () => {
    folder = await temporaryDirectory('sops');
    site = await generateAgeIdentity();
  });
  afterAll(() => folder?.[Symbol.asyncDispose]());

  it('decrypts a document of a package with a valid MAC, because its bytes are those in Git', async () => {
    const encrypted = await encrypt('db.yaml', SECRET);
    const carried = textOf(assemble(applicationOf({ 'db.yaml': encrypted })), 'manifests/db.yaml');
    expect(carried).toBe(encrypted);
    expect(await decrypt('carried.yaml', carried)).toMatchObject({ code: 0, stdout: SECRET });
  });

  it('refuses the document with a namespace written into it', async () => {
    const stamped = (await encrypt('db.yaml', SECRET)).replace(
      'name: db',
      'name: db\n    namespace: dev-shop',
    );
    const { code, stderr } = await decrypt('stamped.yaml', stamped);
    expect(code).not.toBe(0);
    expect(stderr).toContain('MAC mismatch');
  });

  it('decrypts a document without MAC after kustomize set its namespace, as Flux does', async () => {
    const made = assemble(applicationOf({ 'db.yaml': await encrypt('db.yaml', SECRET) }));
    for (const { path, bytes } of made.files) {
      await mkdir(dirname(at(`package/${path}`)), { recursive: true });
      await writeFile(at(`package/${path}`), bytes);
    }
    const { stdout: built } = await runOrFail([kustomize, 'build', at('package')]);
    expect(built).toContain('namespace: dev-shop');
    const { code, stdout } = await decrypt('built.yaml', built, ['--ignore-mac']);
    expect(code).toBe(0);
    expect(stdout).toContain(`password: ${PASSWORD}`);
    expect(stdout).toContain('namespace: dev-shop');
  });

  it("decrypts a document that an application's kustomization listed", async () => {
    const tree: readonly (readonly [string, Buffer])[] = [
      ['app/kustomization.yaml', Buffer.from('resources: [db.yaml]\n')],
      ['app/db.yaml', Buffer.from(await encrypt('db.yaml', SECRET))],
    ];
    const source = {
      kind: 'kustomize',
      folder: 'app',
      tree: new Map(tree),
      shown: (path: string) => path,
    } as const;
    const command = [kustomize, 'build'];
    const tool = { name: 'kustomize', version: 'v5', network: 'shared', command } as const;
    const application = await renderKustomize(
      source,
      tool,
      { subject: 'shop' },
      new AbortController().signal,
    );
    const carried = textOf(assemble(application), 'manifests/db.yaml');
    const { code, stdout } = await decrypt('kustomized.yaml', carried);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`password: ${PASSWORD}`)]);
  });

  it('encrypts two documents of a file as one, which is refused with a hint', async () => {
    const both = await encrypt('two.yaml', `${SECRET}---\n${SECRET.replace('name: db', 'name: web')}`);
    expect(() => assemble(applicationOf({ 'two.yaml': both }))).toThrow(
      expect.objectContaining({ code: 'OBJECT_INVALID', message: expect.stringContaining('Secret db') }),
    );
  });

  it('encrypts whole documents by default, which is refused with a hint', async () => {
    const hidden = await encrypt('all.yaml', SECRET, []);
    expect(() => assemble(applicationOf({ 'all.yaml': hidden }))).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('--encrypted-regex') }),
    );
  });

  it('decrypts the file of a host package, byte for byte', async () => {
    const lines = `USER=shop\nPASSWORD=${PASSWORD}\n`;
    const form = ['--input-type', 'binary', '--output-type', 'json'];
    const encrypted = await encrypt('app.env', lines, form);
    const object =
      'apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: shop}\nspec:\n  secrets:\n  - {path: /run/shop/env, source: app.env.sops}\n';
    const application = applicationOf({ 'package.yaml': object, 'app.env.sops': encrypted });
    const made = await assembleHost(rendered('host'), application, noAccess());
    const carried = textOf(made, 'secrets/run/shop/env');
    expect(carried).toBe(encrypted);
    const opened = await decrypt('carried.json', carried, [
      '--input-type',
      'json',
      '--output-type',
      'binary',
    ]);
    expect(opened).toMatchObject({ code: 0, stdout: lines });
  });
});
