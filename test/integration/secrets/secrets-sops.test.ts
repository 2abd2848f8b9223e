import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { armor, Encrypter } from 'age-encryption';
import { expect, it } from 'vitest';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';
import { parseManifests } from '../../../bundles/formats/bundle/parse-manifests.ts';
import { openManifests } from '../../../agent/secrets/open-manifests.ts';
import { openBinary } from '../../../agent/secrets/sops-binary.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const { identity, recipient } = await generateAgeIdentity();
const stranger = await generateAgeIdentity();

const SECRET = `# of the shop
apiVersion: v1
kind: Secret
metadata:
  name: db
  creationTimestamp: null
  labels:
    "1": one
    a: "two"
    since: 2026-11-21T00:00:00Z
type: Opaque
immutable: true
stringData:
  # a comment within
  user: admin
  password: "p@ss: 'w' \\"x\\" #1"
  multi: |
    line one
      line two
  number: "0123"
  word: "yes"
  empty: ""
  uni: "äöü€\\u0001"
  list-like: "[a, b]"
  enc: ENC[no]
  z: "y"
`;

const CONFIG = `apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: own}
values:
  int: 42
  negative: -7
  octal: 0644
  float: 1.50
  tiny: 1e-9
  large: 9007199254740993
  yes: true
  no: False
  list: [1, two, {three: 3, four: [x, y]}]
  nothing: ~
`;

const MODES = {
  'all values': [],
  'only the data': ['--encrypted-regex', '^(data|stringData|values)$'],
  'all but what a suffix marks': ['--unencrypted-suffix', 'name'],
  'only the data, and a MAC of that only': ['--config'],
} as const;

describeWith(['sops'], 'a document encrypted by SOPS', ({ sops }) => {
  const encrypt = async (
    text: string | Buffer,
    options: readonly string[],
    to: readonly string[] = [recipient],
    name = 'secret.yaml',
  ): Promise<string> => {
    await using folder = await temporaryDirectory('sops');
    const file = join(folder.path, name);
    await writeFile(file, text);
    const rules = join(folder.path, 'mac-of-encrypted.yaml');
    const regex = '^(data|stringData|values)$';
    await writeFile(
      rules,
      JSON.stringify({
        creation_rules: [{ age: to.join(','), encrypted_regex: regex, mac_only_encrypted: true }],
      }),
    );
    if (options.includes('--config'))
      return (await runOrFail([sops, '--config', rules, 'encrypt', file])).stdout;
    return (await runOrFail([sops, 'encrypt', '--age', to.join(','), ...options, file])).stdout;
  };
  const open = async (text: string, by = identity, namespace?: string) => {
    const files = new Map([['secret.yaml', Buffer.from(text)]]);
    const opened = await openManifests(files, namespace, async () => by);
    return {
      values: parseManifests(opened.files).map(({ value }) => value),
      decrypted: [...opened.decrypted],
    };
  };
  const plain = (text: string): unknown =>
    parseManifests(new Map([['secret.yaml', Buffer.from(text)]])).map(({ value }) => value);

  for (const [mode, options] of Object.entries(MODES)) {
    it(`is decrypted to the original: ${mode}`, async () => {
      for (const text of [SECRET, CONFIG]) {
        const encrypted = await encrypt(text, options);
        expect(encrypted).toContain('ENC[AES256_GCM');
        expect(encrypted.includes('mac_only_encrypted: true')).toBe(mode.endsWith('of that only'));
        const opened = await open(encrypted);
        expect(opened).toEqual({ values: plain(text), decrypted: ['secret.yaml'] });
      }
    });
  }

  it('is decrypted by any of its recipients', async () => {
    const encrypted = await encrypt(SECRET, [], [stranger.recipient, recipient]);
    expect((await open(encrypted)).values).toEqual(plain(SECRET));
    expect((await open(encrypted, stranger.identity)).values).toEqual(plain(SECRET));
  });

  it('keeps its position among other documents, and gets a namespace if it has none', async () => {
    const encrypted = await encrypt(SECRET, MODES['only the data']);
    const own = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n';
    const { values } = await open(`${own}---\n${encrypted}---\n${own}`, identity, 'shop');
    expect(values).toMatchObject([
      { kind: 'ConfigMap', metadata: { name: 'c' } },
      { kind: 'Secret', metadata: { name: 'db', namespace: 'shop' } },
      { kind: 'ConfigMap' },
    ]);
    expect((await open(await encrypt(CONFIG, []), identity, 'shop')).values).toMatchObject([
      { metadata: { namespace: 'own' } },
    ]);
  });

  it('is refused for another identity, and when a byte, a path or a plain value was changed', async () => {
    const refused = { code: 'SECRET_UNREADABLE' };
    const encrypted = await encrypt(SECRET, MODES['only the data']);
    await expect(open(encrypted, stranger.identity)).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining('secret.yaml cannot be decrypted: it is not encrypted to this agent'),
    });
    const value = (key: string): string => new RegExp(`^ +${key}: (ENC.*)$`, 'm').exec(encrypted)?.[1] ?? '?';
    const [user, word] = [value('user'), value('word')];
    const changes = {
      'a value at another place': encrypted.replace(word, user),
      'a value in plain text': encrypted.replace(user, 'root'),
      'another byte': encrypted.replace(user, user.replace('data:', 'data:AAAA')),
      'a plain value': encrypted.replace('name: db', 'name: other'),
      'one value less': encrypted.replace(/^ +user: .*\n/m, ''),
      'another time': encrypted.replace(/lastmodified: "20../, 'lastmodified: "19'),
      'no MAC of its own': encrypted.replace(/mac: ENC.*/, `mac: ${user}`),
    };
    for (const [what, text] of Object.entries(changes)) {
      expect(text, what).not.toBe(encrypted);
      await expect(open(text), what).rejects.toMatchObject(refused);
    }
  });

  it('is refused by its MAC when its data key was replaced', async () => {
    const encrypted = await encrypt(SECRET, MODES['only the data']);
    const encrypter = new Encrypter();
    encrypter.addRecipient(recipient);
    const forged = armor.encode(await encrypter.encrypt(new Uint8Array(32)));
    const text = encrypted.replace(
      /^( *)-----BEGIN[\s\S]*?-----END AGE ENCRYPTED FILE-----/m,
      (_all, indent: string) =>
        forged
          .trimEnd()
          .split('\n')
          .map((line) => indent + line)
          .join('\n'),
    );
    await expect(open(text)).rejects.toMatchObject({ code: 'SECRET_UNREADABLE' });
  });

  it('in binary form may have any bytes', async () => {
    const bytes = 'a key\n\0\u0001 and ünïcode\r\n';
    for (const content of [bytes, '']) {
      const encrypted = await encrypt(content, ['--input-type', 'binary'], [recipient], 'key.bin');
      expect((await openBinary(Buffer.from(encrypted), identity)).toString()).toBe(content);
    }
    const encrypted = await encrypt(bytes, ['--input-type', 'binary'], [recipient], 'key.bin');
    for (const text of [
      encrypted.replace('data:', 'data:AAAA'),
      encrypted.replace(/"data": "[^"]*"/, '"data": "plain"'),
      encrypted.replace(/"data": "[^"]*"/, '"data": ""'),
      encrypted.slice(1),
      '{}',
    ])
      await expect(openBinary(Buffer.from(text), identity)).rejects.toMatchObject({
        code: 'SECRET_UNREADABLE',
      });
    await expect(openBinary(Buffer.from(encrypted), stranger.identity)).rejects.toMatchObject({
      code: 'SECRET_UNREADABLE',
    });
  });
});
