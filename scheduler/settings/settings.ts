/** How a setting's value is read: a path is resolved, a repository or a database is a URL or a path, a text stays unchanged. */
type Kind = 'path' | 'repository' | 'database' | 'text';

type Description = { readonly kind: Kind; readonly what: string };

/** Settings with one value, from a flag, an environment variable or the file, and what each of them names in messages. */
const DESCRIPTIONS = {
  platform: { kind: 'repository', what: 'platform repository' },
  keys: { kind: 'path', what: 'key directory' },
  layout: { kind: 'path', what: 'OCI layout' },
  db: { kind: 'database', what: "hub's database" },
  cache: { kind: 'path', what: 'cache directory' },
  images: { kind: 'path', what: 'OCI layout with the images' },
  registry: { kind: 'text', what: 'registry' },
  tree: { kind: 'text', what: 'place of the rendered trees' },
  forge: { kind: 'text', what: 'kind and address of the forge' },
  committer: { kind: 'text', what: 'committer of rendered trees' },
  caFile: { kind: 'path', what: "file with the registry's certificates" },
  authFile: { kind: 'path', what: 'auth file' },
  poll: { kind: 'text', what: 'time between two looks' },
  retention: { kind: 'text', what: 'age of facts that are removed' },
  listen: { kind: 'text', what: 'address to listen at' },
  tlsCertFile: { kind: 'path', what: "file with the hub's certificate" },
  tlsKeyFile: { kind: 'path', what: "file with the key of the hub's certificate" },
  webhookSecretFile: { kind: 'path', what: "file with the webhooks' secret" },
  checkSecretFile: { kind: 'path', what: "file with the checks' secret" },
} as const satisfies Record<string, Description>;

export type Setting = keyof typeof DESCRIPTIONS;

export const SETTINGS: Readonly<Record<Setting, Description>> = DESCRIPTIONS;

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly Setting[];

/** 'caFile' -> 'ca-file'. */
export const flagOf = (setting: Setting): string =>
  setting.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** 'caFile' -> 'FLEET_CA_FILE'. */
export const variableOf = (setting: Setting): string =>
  `FLEET_${flagOf(setting).replaceAll('-', '_').toUpperCase()}`;
