import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { parseManifests } from '#bundles/formats/bundle/parse-manifests';
import { putInputs } from '#bundles/formats/site-values/put-inputs';
import { patchesOf } from '../../../scheduler/deliver/tree/object-patches.ts';
import { toYaml } from '../../../scheduler/deliver/tree/place-values.ts';
import { withPythonOf } from '../../harness/neighbours/python-of.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { field, FILE, filesOf, LINE } from '../../scheduler/deliver/tree/line-fields.ts';
import { reconcilerClusters, WEB } from '../../scheduler/deliver/tree/reconciler-clusters.ts';
import { RECONCILERS } from '../../scheduler/load/templates/render-template.ts';

type Objects = readonly { readonly apiVersion: string; readonly kind: string; readonly spec: never }[];

/** The objects of the reconciler in the folder of plant-8/edge. */
const inFolder = async (name: string): Promise<{ readonly text: string; readonly objects: Objects }> => {
  await using world = await reconcilerClusters(name, RECONCILERS[name] ?? {});
  await world.deliver();
  const text = (await world.file('plant-8/edge', 'monitor-probe/reconciler.yaml')) ?? '';
  return { text, objects: parseAllDocuments(text).map((one) => one.toJS() as never) };
};

describeWith(['kustomize'], 'patches of a cluster that follows the registry', ({ kustomize }) => {
  it.each(['flux-oci', 'argocd-oci'])(
    '%s: kustomize puts the values of the site into the objects',
    async (name) => {
      const { objects } = await inFolder(name);
      const spec = objects.at(-1)?.spec as unknown as Readonly<Record<string, never>>;
      const patches = name === 'flux-oci' ? spec['patches'] : spec['source']?.['kustomize']?.['patches'];
      await using folder = await temporaryDirectory('patches');
      const config = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'platform-config', namespace: 'dev-press-monitor-probe' },
      };
      // As the bundle has it.
      const web = WEB.replaceAll('{name: web}', '{name: web, namespace: dev-press-monitor-probe}');
      await writeFile(join(folder.path, 'web.yaml'), web);
      await writeFile(
        join(folder.path, 'config.yaml'),
        stringify({ ...config, data: { LEVEL: 'base', LINE: '0' } }),
      );
      const kustomization = {
        resources: ['web.yaml', 'config.yaml'],
        patches,
      };
      await writeFile(join(folder.path, 'kustomization.yaml'), stringify(kustomization));
      const { stdout } = await runOrFail([kustomize, 'build', folder.path]);
      const built = parseAllDocuments(stdout).map((one) => one.toJS() as { readonly kind: string });
      expect(built).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ kind: 'ConfigMap', data: { speed: '30' } }),
          expect.objectContaining({ kind: 'ConfigMap', data: { LEVEL: "it's {{ here }}", LINE: '8' } }),
          expect.objectContaining({ kind: 'Line', spec: { replicas: 1, belts: [{ speed: 2 }] } }),
        ]),
      );
    },
  );

  it('whole numbers beyond 2^53 stay beside the values of the site', async () => {
    await using folder = await temporaryDirectory('numbers');
    const fields = [field('/spec/belts/1/speed', 3), field('/metadata/annotations/note', 'new')];
    await writeFile(join(folder.path, FILE), LINE);
    const patches = patchesOf(filesOf(LINE), fields);
    await writeFile(join(folder.path, 'kustomization.yaml'), stringify({ resources: [FILE], patches }));
    const { stdout } = await runOrFail([kustomize, 'build', folder.path]);
    const [wanted] = putInputs(parseManifests(filesOf(LINE)), fields);
    expect(parse(stdout, { intAsBigInt: true })).toEqual(parse(toYaml(wanted?.value), { intAsBigInt: true }));
    expect(stdout).toContain('9223372036854775807');
  });
});

/** Accepts an object as the definition of its kind does, which an API server reads alike. */
const judge = async (file: string, object: Objects[number]): Promise<unknown> => {
  const definitions = parseAllDocuments(await readFile(file, 'utf8')).map((one) => one.toJS() as never);
  const found = definitions.find(
    (one: { readonly spec?: { readonly names: { readonly kind: string } } } | null) =>
      one?.spec?.names.kind === object.kind,
  ) as unknown as {
    readonly spec: {
      readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: object } }[];
    };
  };
  const schema = found.spec.versions[0]?.schema.openAPIV3Schema ?? {};
  // OpenAPI's own word, which Ajv reads only beside a type.
  const plain = JSON.parse(JSON.stringify(schema), (key, one: unknown) =>
    key === 'nullable' ? undefined : one,
  ) as object;
  const isValid = new Ajv({ strict: false, validateFormats: false }).compile(plain);
  isValid(object);
  return isValid.errors ?? [];
};

describeWith(
  ['rancherFleetDefinitions15', 'argoDefinitions'],
  'definitions of other reconcilers',
  (paths) => {
    const files = {
      rancherFleet: paths.rancherFleetDefinitions15,
      argoDefinitions: paths.argoDefinitions,
    };
    it.each([
      ['rancher-fleet-helm', 'rancherFleet'],
      ['rancher-fleet', 'rancherFleet'],
      ['argocd-oci', 'argoDefinitions'],
    ] as const)('accept %s of one cluster', async (name, part) => {
      const { objects } = await inFolder(name);
      const [object] = objects;
      if (object === undefined) throw new Error('the folder has no object');
      expect(await judge(files[part], object)).toEqual([]);
      expect(await judge(files[part], { ...object, spec: 'x' as never })).not.toEqual([]);
    });
  },
);

describeOnVersions('ansible', [], 'the variables of a host', ({ ansible }) => {
  it('ansible-local runs its playbook with the values of the site, with their types and unread as templates', async () => {
    const { text } = await inFolder('ansible-local');
    await using folder = await temporaryDirectory('playbook');
    const [play] = parse(text) as readonly Readonly<Record<string, string>>[];
    const own = play?.['ansible.builtin.import_playbook'] ?? '';
    await writeFile(join(folder.path, 'reconciler.yaml'), text.replace(own, 'site.yml'));
    await writeFile(
      join(folder.path, 'site.yml'),
      "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - ansible.builtin.copy: {dest: '{{ playbook_dir }}/seen.json', content: '{{ site_values | to_json }}'}\n",
    );
    await runOrFail([ansible, '-i', 'localhost,', '-c', 'local', 'reconciler.yaml'], {
      cwd: folder.path,
      env: withPythonOf(ansible),
    });
    const seen = JSON.parse(await readFile(join(folder.path, 'seen.json'), 'utf8')) as unknown;
    expect(seen).toEqual({ lineNumber: 8, motto: "it's {{ here }}" });
  });
});
