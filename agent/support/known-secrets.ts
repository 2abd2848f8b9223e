import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import { readBlob } from '#bundles/formats/layout/verified';
import { MAX_SEALED_BYTES } from '#bundles/trust/secrets/secret-set';
import { readWanted } from '../apply/host/desired/read-wanted.ts';
import type { SystemdOptions } from '../apply/host/host-options.ts';
import { loadPackage } from '../apply/load-package.ts';
import { secretsOfEnv, unitSecrets } from '../apply/host/systemd/unit-secrets.ts';
import type { Config } from '../config/config.ts';
import { ageFile, findAgeIdentity } from '../hub/age-identity.ts';
import { keyFile } from '../hub/agent-key.ts';
import { namesSecretValue } from '#bundles/formats/author-schema/names-secret-value';
import { writeOnlyNames } from '#bundles/formats/author-schema/write-only-names';
import { namesSecret } from '../secrets/redact-shapes.ts';
import { secretForms } from '../secrets/redact.ts';
import type { Agent } from '../store/agent.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import { readPackages } from '../store/applied/packages.ts';
import { readSecretSets } from '../store/secret-sets.ts';
import { readSiteValues } from '../store/site-values.ts';
import { unpackedLayer } from '../store/unpacked-layer.ts';

type Sources = { readonly config: Config; readonly env: NodeJS.ProcessEnv; readonly asked: SystemdOptions };

const MAX_FILE_BYTES = 1 << 20;

/**
 * Every form of every secret that this agent can find out, for redaction: sealed sets, decrypted and private files of packages, site values
 * that a schema calls writeOnly, its own keys, passwords of registries and clusters, variables and credentials of units. What cannot be
 * read gives none: a program that cannot read it does not print it.
 * @param units whose environment is asked for
 */
export const knownSecrets = async (
  agent: Agent,
  units: readonly string[],
  sources: Sources,
): Promise<readonly string[]> => {
  const found = await Promise.all([
    ofSets(agent),
    ...readPackages(agent.state).flatMap(({ current, desired, previous }) =>
      [current, desired, previous].flatMap((ref) => (ref ? [ofPackage(agent, ref)] : [])),
    ),
    ofOwnKeys(agent),
    ofFiles(sources),
    ...units.map((unit) => unitSecrets(sources.asked, unit, agent.signal).catch(() => [])),
  ]);
  const variables = Object.entries(sources.env).flatMap(([name, value]) =>
    namesSecret(name) && value ? [Buffer.from(value)] : [],
  );
  return secretForms([...found.flat(), ...variables]);
};

const ofSets = async ({ state, identity, signal }: Agent): Promise<readonly Buffer[]> => {
  const sets = readSecretSets(state);
  const opener =
    sets.length === 0 ? undefined : await findAgeIdentity(state.directory).catch(() => undefined);
  if (opener === undefined) return [];
  // Loaded on demand, as in open-package.ts.
  const { openSecretSet } = await import('#bundles/trust/secrets/open');
  const values: Buffer[] = [];
  for (const { name, digest } of sets) {
    try {
      const bytes = await readBlob(state.blobs, digest, MAX_SEALED_BYTES, signal);
      const { fleet, site } = identity;
      const set = await openSecretSet(bytes, opener, { fleet, site, name });
      values.push(...Object.values(set.values).map((value) => Buffer.from(value, 'base64')));
    } catch {
      // Not sealed to this agent: nothing here has its values.
    }
  }
  return values;
};

const ofPackage = async (agent: Agent, ref: PackageRef): Promise<readonly Buffer[]> => {
  const { state, identity, signal } = agent;
  const found = [...(await ofSiteValues(agent, ref).catch(() => []))];
  try {
    const desired = await loadPackage(state, identity.agent, ref, signal);
    for (const path of desired.secrets?.decrypted ?? []) found.push(...contentsOf(desired.files.get(path)));
    if (ref.kind === 'host')
      for (const { mode, ...file } of readWanted(desired).files.values())
        if ((mode & 0o044) === 0 && 'bytes' in file) found.push(...contentsOf(file.bytes));
  } catch {
    // A package that cannot be read was not applied.
  }
  return found;
};

/** Largest file of which every line counts as a secret: a key or a list of passwords. */
const MAX_WHOLE_BYTES = 16 << 10;

/** A small file whole, which is also looked for by line, and the values of its variables. */
const contentsOf = (bytes: Buffer | undefined): readonly Buffer[] => {
  if (bytes === undefined) return [];
  const isSmall = bytes.byteLength <= MAX_WHOLE_BYTES;
  return [...(isSmall ? [bytes] : []), ...secretsOfEnv(bytes.toString('utf8'), isSmall)];
};

/** Site values with the name of a secret, or whose schema says writeOnly. */
const ofSiteValues = async (
  { state, identity, signal }: Agent,
  ref: PackageRef,
): Promise<readonly Buffer[]> => {
  const values = valuesOfAgent(readSiteValues(state, ref.siteValues), identity.agent, ref.assignment);
  const { bundle } = await unpackedLayer(state, ref, signal);
  const hidden = writeOnlyNames(bundle.config.siteInputs.schema);
  return Object.entries(values).flatMap(([name, value]) =>
    hidden.has(name) || namesSecret(name) || namesSecretValue(name) ? leaves(value) : [],
  );
};

const MIN_LEAF = 4;

/** All texts and numbers in a value. */
const leaves = (value: unknown): readonly Buffer[] => {
  if (typeof value === 'string' || typeof value === 'number')
    return String(value).length < MIN_LEAF ? [] : [Buffer.from(String(value))];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [];
};

const ofOwnKeys = async ({ state }: Agent): Promise<readonly Buffer[]> =>
  (await Promise.all([keyFile(state.directory), ageFile(state.directory)].map(readSome))).flatMap(
    (bytes) => bytes ?? [],
  );

/** Credentials of registries and clusters: every text in their files that is not an address. */
const ofFiles = async ({ config, env }: Sources): Promise<readonly Buffer[]> => {
  const home = env['HOME'] ?? '/root';
  const registries = [
    config.authFile,
    env['REGISTRY_AUTH_FILE'],
    join(env['DOCKER_CONFIG'] ?? join(home, '.docker'), 'config.json'),
    join(home, '.config/containers/auth.json'),
    '/run/containers/0/auth.json',
    '/etc/containers/auth.json',
    '/var/lib/kubelet/config.json',
  ];
  const clusters = [config.kubeconfig, env['KUBECONFIG'], join(home, '.kube/config')];
  const found: Buffer[] = [];
  for (const file of [...registries, ...clusters]) {
    const document = await parsed(file);
    for (const part of ['auths', 'users'] as const)
      for (const leaf of leaves((document as { [name: string]: unknown } | undefined)?.[part]))
        found.push(leaf, ...passwordIn(leaf));
  }
  const token = await readSome('/var/run/secrets/kubernetes.io/serviceaccount/token');
  return token ? [...found, token] : found;
};

/** The password in Base64 of 'user:password', docker's `auth`. */
const passwordIn = (leaf: Buffer): readonly Buffer[] => {
  const [, password] = /^[^:]*:(.{4,})$/s.exec(Buffer.from(leaf.toString(), 'base64').toString('utf8')) ?? [];
  return password === undefined ? [] : [Buffer.from(password)];
};

const parsed = async (file: string | undefined): Promise<unknown> => {
  const bytes = file === undefined || file === '' ? undefined : await readSome(file);
  try {
    return bytes && (parse(bytes.toString('utf8'), { logLevel: 'silent' }) as unknown);
  } catch {
    return undefined;
  }
};

const readSome = async (file: string): Promise<Buffer | undefined> => {
  const bytes = await readFile(file).catch(() => undefined);
  return bytes && bytes.byteLength <= MAX_FILE_BYTES ? bytes : undefined;
};
