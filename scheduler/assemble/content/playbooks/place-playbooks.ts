import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import type { HostPlaybook } from '#bundles/formats/bundle/host-package';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import type { Application } from '../../../load/applications/application.ts';
import type { RenderedPackage, Value } from '../../../model/model.ts';
import type { ResolvedFile } from '../check-host-paths.ts';
import type { HostPackageObject, SiteInputObject } from '../host-package-object.ts';
import { checkConditions, type ConditionFile } from './check-conditions.ts';
import type { PlaybookObject } from '../host-playbook-object.ts';

export type PlacedPlaybook = {
  readonly playbook: HostPlaybook;
  readonly files: readonly ResolvedFile[];
  /** The fields of its file of variables that take values of the site. */
  readonly siteInputs: readonly SiteInputObject[];
  readonly at: PlaybookObject['at'];
};

const VARIABLES = 'fleet-variables.json';

/**
 * The playbooks of one HostPackage with their files on the host: a folder for each below the package's folder for Ansible. They
 * use only collections and roles of the same HostPackage, so that playbooks of the platform's templates use nothing from an
 * application.
 * @param contents the placed contents of the package
 * @throws FleetError REFERENCE_MISSING, FIELD_INVALID with the playbook's place
 */
export const placePlaybooks = (
  object: HostPackageObject,
  rendered: RenderedPackage,
  application: Application,
  contents: readonly ResolvedFile[],
): readonly PlacedPlaybook[] => {
  const { name: id } = rendered.assignment.target;
  const home = object.folders.ansible ?? `/var/lib/fleet-ferry/ansible/${id}`;
  const pathOf = (at: PlaybookObject['at']): string | undefined =>
    contents.find((it) => it.at === at && it.content !== undefined)?.file.path;
  const collections = object.collections.flatMap(({ at }) => {
    const path = pathOf(at);
    const [namespace, name] = posix.basename(path ?? '').split('-');
    return path === undefined || namespace === undefined || name === undefined
      ? []
      : [{ namespace, name, path }];
  });
  const roles = object.roles.flatMap(({ name, at }) => {
    const path = pathOf(at);
    return path === undefined ? [] : [{ name, path }];
  });
  return object.playbooks.map((it): PlacedPlaybook => {
    const folder = `${home}/playbooks/${it.name}`;
    const variables = variablesOf(it, rendered);
    checkConditions(conditionFiles(it, application), textsOf(it, variables));
    const files = [
      ...sourcesOf(it, application),
      ...(it.config ? [configOf(it, rendered)] : []),
      ...(variables ? [[VARIABLES, Buffer.from(`${JSON.stringify(variables, null, 2)}\n`)] as const] : []),
    ].map(([path, bytes]) => placed(`${folder}/${path}`, bytes, it));
    checkVault(it, object);
    return {
      at: it.at,
      files,
      siteInputs: it.siteInputs.map(({ variable, ...about }) => ({
        ...about,
        file: `${folder}/${VARIABLES}`,
        pointer: `/${variable}`,
      })),
      playbook: defined({
        name: it.name,
        folder,
        playbook: it.source === undefined ? 'playbook.yml' : posix.basename(it.source),
        files: files.map(({ file }) => file.path),
        variables: variables ? `${folder}/${VARIABLES}` : undefined,
        collections,
        roles,
        vaultPassword: it.vaultPassword,
        become: it.become,
        order: it.order,
        timeoutSeconds: it.timeoutSeconds,
        checkSeconds: it.checkSeconds,
      }),
    };
  });
};

type Source = readonly [path: string, bytes: Buffer];

/** Everything in the folder of the playbook, by path below that folder. */
const sourcesOf = (
  { source, content, at }: PlaybookObject,
  { files, shown }: Application,
): readonly Source[] => {
  if (source === undefined) return [['playbook.yml', Buffer.from(content ?? '')]];
  if (!files.has(source))
    throw new FleetError('REFERENCE_MISSING', `there is no file ${source} in ${shown}`, { at });
  const folder = `${posix.dirname(source)}/`;
  return [...files].flatMap(([path, bytes]) =>
    path.startsWith(folder) ? [[path.slice(folder.length), bytes] as const] : [],
  );
};

const conditionFiles = (it: PlaybookObject, application: Application): readonly ConditionFile[] =>
  sourcesOf(it, application).flatMap(([path, bytes]) => {
    if (!/\.ya?ml$/.test(path)) return [];
    const text = bytes.toString('utf8');
    return it.source === undefined
      ? [{ file: `the playbook ${it.name}`, text, at: it.at }]
      : [{ file: `${application.shown}${posix.dirname(it.source)}/${path}`, text }];
  });

/** Names of the playbook's variables that have a text; extra variables, which nothing overrides. */
const textsOf = (
  { siteInputs }: PlaybookObject,
  variables: { readonly [key: string]: Value } = {},
): ReadonlySet<string> => {
  const inputs = new Map(siteInputs.map(({ variable, schema }) => [variable, schema]));
  const isText = (name: string, value: Value): boolean => typeof value === 'string' && !inputs.has(name);
  const platform = variables['platform_config'];
  return new Set([
    ...Object.entries(variables).flatMap(([name, value]) => (isText(name, value) ? [name] : [])),
    ...[...inputs].flatMap(([name, schema]) => (schema['type'] === 'string' ? [name] : [])),
    ...(isRecord(platform)
      ? Object.entries(platform).flatMap(([name, value]) =>
          typeof value === 'string' ? [`platform_config.${name}`] : [],
        )
      : []),
  ]);
};

const configOf = ({ name, at }: PlaybookObject, { files }: RenderedPackage): Source => {
  const file = files.find(({ path }) => path.startsWith('platform-config.'));
  if (file) return [file.path, Buffer.from(file.text)];
  throw new FleetError(
    'REFERENCE_MISSING',
    `the playbook ${name} needs the platform configuration, but none was rendered`,
    { at, hint: 'Give the cluster type a configType such as env-file' },
  );
};

const variablesOf = (
  { config, variables, siteInputs, name, at }: PlaybookObject,
  { configData }: RenderedPackage,
): { readonly [key: string]: Value } | undefined => {
  if (config && Object.hasOwn(variables, 'platform_config'))
    throw new FleetError('FIELD_INVALID', `the playbook ${name} has platform_config twice`, {
      at,
      hint: 'config: true sets that variable; rename the other',
    });
  const { reconciler: _, namespaceService: __, ...platform } = configData;
  const all = { ...variables, ...defined({ platform_config: config ? platform : undefined }) };
  return Object.keys(all).length + siteInputs.length > 0 ? all : undefined;
};

const checkVault = ({ vaultPassword, name, at }: PlaybookObject, { secrets }: HostPackageObject): void => {
  if (vaultPassword === undefined) return;
  const secret = secrets.find(({ path }) => path === vaultPassword);
  if (!secret)
    throw new FleetError(
      'REFERENCE_MISSING',
      `the playbook ${name} takes its vault password from ${vaultPassword}, which is not under secrets`,
      { at, hint: 'Bring the password as a secret of this HostPackage' },
    );
  // Ansible runs an executable password file as a program.
  if ((Number.parseInt(secret.mode, 8) & 0o111) !== 0)
    throw new FleetError('FIELD_INVALID', `${vaultPassword} is executable: Ansible would run it`, {
      at: secret.at,
      hint: 'Give it the mode "0600"',
    });
};

const placed = (path: string, bytes: Buffer, { at }: PlaybookObject): ResolvedFile => {
  const content = `files${path}`;
  return {
    file: defined({
      path,
      mode: '0644',
      owner: 'root',
      group: 'root',
      content,
      digest: digestOf(bytes),
      size: bytes.byteLength,
      format: posix.basename(path) === VARIABLES ? 'json' : undefined,
    }),
    bytes: { path: content, bytes },
    at,
  };
};
