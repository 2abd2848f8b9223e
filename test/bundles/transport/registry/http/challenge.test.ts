import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseChallenges } from '#bundles/transport/registry/http/challenge';

const parsed = (header: string) =>
  parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

describe('parseChallenges of WWW-Authenticate', () => {
  it.each([
    [
      'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
      [
        [
          'bearer',
          {
            realm: 'https://auth.example/token',
            service: 'registry.example',
            scope: 'repository:a/b:pull,push',
          },
        ],
      ],
    ],
    ['Basic realm="a, b \\"c\\""', [['basic', { realm: 'a, b "c"' }]]],
    ['BASIC REALM=simple', [['basic', { realm: 'simple' }]]],
    [
      'Bearer realm=https://auth.example/token, service=x',
      [['bearer', { realm: 'https://auth.example/token', service: 'x' }]],
    ],
    [
      'Negotiate, Basic realm="x"',
      [
        ['negotiate', {}],
        ['basic', { realm: 'x' }],
      ],
    ],
    [
      'Negotiate dG9rZW4=, Basic realm="x"',
      [
        ['negotiate', {}],
        ['basic', { realm: 'x' }],
      ],
    ],
    [
      'Basic realm="x", Bearer realm = "y" , error="invalid_token"',
      [
        ['basic', { realm: 'x' }],
        ['bearer', { realm: 'y', error: 'invalid_token' }],
      ],
    ],
    ['Bearer realm="first",realm="second"', [['bearer', { realm: 'first' }]]],
    ['Bearer realm="never closed', [['bearer', {}]]],
    ['', []],
    [',, ,', []],
    ['"?"', []],
  ])('reads %s', (header, expected) => {
    expect(parsed(header)).toMatchObject(expected);
    expect(parsed(header)[0]?.[0]).toBe(expected[0]?.[0]);
  });

  it('reads quoted parameters with any characters', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9_-]{0,8}$/);
    const value = fc.string({ maxLength: 20 }).filter((text) => !/[\r\n]/.test(text));
    const one = fc.tuple(name, fc.dictionary(name, value, { minKeys: 1, maxKeys: 4 }));
    fc.assert(
      fc.property(fc.array(one, { maxLength: 3 }), (challenges) => {
        const text = challenges
          .map(([scheme, parameters]) => {
            const words = Object.entries(parameters).map(
              ([key, word]) => `${key}="${word.replaceAll(/["\\]/g, '\\$&')}"`,
            );
            return `${scheme} ${words.join(', ')}`;
          })
          .join(', ');
        expect(parsed(text)).toEqual(challenges.map(([scheme, parameters]) => [scheme, { ...parameters }]));
      }),
    );
  });

  it('reads any text in linear time', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('ab="\\, \t~/')) }), (text) => {
        parseChallenges(text);
      }),
    );
    for (const piece of ['a=', '"\\', ' ,', 'a a ', '\\"', '= '])
      parseChallenges(`Bearer realm="${piece.repeat(8000)}`);
  });
});
