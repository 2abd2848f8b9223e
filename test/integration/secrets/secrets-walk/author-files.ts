import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const text = (value: string): string => JSON.stringify(value);
const base64 = (value: string): string => Buffer.from(value).toString('base64');
const indented = (lines: string): string => lines.replace(/^(?=.)/gm, '    ');

const secret = (name: string, value: string): string =>
  `apiVersion: v1\nkind: Secret\nmetadata:\n  name: ${name}\nstringData:\n  code: ${text(value)}\n`;

/** Secrets in plain text in the manifests of order-api, in the forms that authors use. */
export const writePlainSecrets = async (app: string, value: string): Promise<void> => {
  const file = (name: string, content: string) => writeFile(join(app, 'kubernetes', name), content);
  const json = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'json' },
    data: { code: base64(value) },
  });
  await file('secret.yaml', `${secret('one', value)}---\n${secret('two', value)}`);
  await file('secret-json.yaml', `${json}\n`);
  const embedded = `  all.yaml: |\n${indented(secret('inner', value))}  all.json: ${text(json)}\n`;
  await file(
    'settings.yaml',
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: manifests\ndata:\n${embedded}`,
  );
  const applied = { 'kubectl.kubernetes.io/last-applied-configuration': json };
  await file(
    'applied.yaml',
    `apiVersion: v1\nkind: Secret\nmetadata:\n  name: applied\n  annotations: ${JSON.stringify(applied)}\ntype: Opaque\n`,
  );
};

/** The label printer gets a secret of a sealed set, one that SOPS encrypted, and a file that only its owner may read. */
export const writeHostSecrets = async (app: string, sops: string, own: string): Promise<void> => {
  const file = join(app, 'host/package.yaml');
  await writeFile(join(app, 'host/printer.sops'), sops);
  await writeFile(join(app, 'host/token'), `${own}\n`);
  const spec = await readFile(file, 'utf8');
  const files = `  files:\n    - path: /etc/label-printer/token\n      source: token\n      mode: "0600"\n`;
  await writeFile(file, spec.replace('  files:\n', files));
  await appendFile(
    file,
    [
      '  secrets:',
      '    - {path: /run/label-printer/password, set: label-printer, key: password}',
      '    - {path: /run/label-printer/printer, source: printer.sops}',
      '',
    ].join('\n'),
  );
};
