import { describe, expect, it } from 'vitest';
import { readItems, summariseItems } from '#bundles/formats/diff/read-items';

const HEAD = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n';

/** Whether a file is shown as the objects in it, or as the text that it is. */
const isRead = (text: string): boolean =>
  [...readItems(new Map([['a.yaml', Buffer.from(text)]])).values()].every((it) => it.object !== undefined);

describe('a file of YAML', () => {
  it('is parsed with its aliases', () => {
    expect(isRead(`${HEAD}data: &data {a: b}\ncopy: *data\n`)).toBe(true);
  });

  it('is shown as text when its aliases would expand beyond the limit', () => {
    const nine = Array.from(
      { length: 9 },
      (_, level) => `l${level + 1}: &l${level + 1} [*l${level}, *l${level}]`,
    );
    expect(isRead(`${HEAD}l0: &l0 [x]\n${nine.join('\n')}\n`)).toBe(false);
    const long = `${HEAD}data: &data {a: ${'b'.repeat(300_000)}}\n`;
    expect(isRead(long)).toBe(true);
    expect(isRead(`${long}copies: [*data, *data]\n`)).toBe(false);
  });
});

describe('packages that do not differ', () => {
  it('have their own images where these have the name of the namespace', () => {
    const packageIn = (namespace: string) =>
      new Map([
        [
          'pod.yaml',
          Buffer.from(
            `apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ${namespace}}\nspec: {containers: [{image: "r.example/${namespace}/web:1"}]}\n`,
          ),
        ],
      ]);
    const known = new Map();
    for (const namespace of ['shop-web', 'shop-app', 'shop-web'])
      expect(summariseItems(packageIn(namespace), namespace, known)).toEqual({
        count: 1,
        images: [`r.example/${namespace}/web:1`],
      });
    expect(known.size).toBe(1);
  });
});
