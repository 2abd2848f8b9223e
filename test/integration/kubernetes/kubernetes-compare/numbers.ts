import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseManifests } from '../../../../bundles/formats/bundle/parse-manifests.ts';
import { writeExactJson } from '../../../../bundles/json/exact-json.ts';
import { pack } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { definition, yaml } from './objects.ts';
import type { CompareWorld } from './world.ts';

/** Numbers from the bytes of a package to the API server and back. */
export const numbersOnCluster = ({ newSite, newNamespace, kubectl, driftOf }: CompareWorld): void => {
  describe('numbers in objects', () => {
    it('are read as Go reads them, and refused when the server would round them', async () => {
      const ns = await newNamespace();
      await kubectl(['apply', '-f', '-'], yaml(definition('meters', 'Meter')));
      await kubectl(['wait', '--for=condition=Established', 'crd/meters.meters.example']);
      const digits = (max: number) => fc.stringMatching(new RegExp(`^\\d{1,${max}}$`));
      const sign = fc.constantFrom('', '-', '+');
      const literal = fc.oneof(
        fc.tuple(sign, digits(25)).map((parts) => parts.join('')),
        fc
          .tuple(sign, fc.constantFrom('0x', '0b', '0o', '0', '0X'), fc.stringMatching(/^[\da-fA-F_]{1,20}$/))
          .map((parts) => parts.join('')),
        fc
          .tuple(sign, digits(18), fc.constantFrom('.', '.5', 'e3', 'e-7', 'E+21', '.25e2', 'e400', '_0'))
          .map((parts) => parts.join('')),
        fc.stringMatching(/^[-+]?[\d._eExob]{1,8}$/),
        fc.bigInt({ min: -(2n ** 63n) - 4n, max: 2n ** 64n }).map(String),
      );
      const literals = fc
        .sample(literal, 600)
        .filter((text) => !/^[-+._]*$/.test(text))
        .concat(
          '9007199254740993',
          '-9223372036854775808',
          '9223372036854775807',
          '0x7fffffffffffffff',
          '.',
          'e5',
        );
      const meter = (fields: readonly string[]): string =>
        `apiVersion: meters.example/v1\nkind: Meter\nmetadata: {name: m, namespace: ${ns}}\nspec:\n${fields
          .map((text, index) => `  v${index}: ${text}\n`)
          .join('')}`;
      const ours = (text: string): string | undefined => {
        try {
          const [document] = parseManifests(new Map([['m.yaml', Buffer.from(meter([text]))]]));
          return writeExactJson((document?.value['spec'] as Record<string, unknown> | undefined)?.['v0']);
        } catch {
          return undefined;
        }
      };
      const stored = async (texts: readonly string[]): Promise<readonly string[]> => {
        const path = ['get', 'meter', 'm', '-n', ns, '-o', 'json'];
        await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], meter(texts));
        const shown = await kubectl(path);
        return texts.map(
          (_, index) => new RegExp(`"v${index}": ("(?:[^"\\\\]|\\\\.)*"|[^,\\s]+)`).exec(shown)?.[1] ?? '',
        );
      };
      const taken = literals.filter((text) => ours(text) !== undefined);
      const go = await stored(taken);
      for (const [index, text] of taken.entries()) {
        const read = ours(text) ?? '';
        const server = go[index] ?? '';
        const isWhole =
          /^-?\d+$/.test(read) && /^-?\d+$/.test(server) && Number.isSafeInteger(Number(server));
        if (read.startsWith('"') || isWhole) expect(read, text).toBe(server);
        else expect(Number(read), text).toBe(Number(server));
        if (/^[-+]?[1-9]\d*$/.test(text))
          expect(BigInt(Number.isSafeInteger(Number(read)) ? read : text), text).toBe(BigInt(text));
      }
      const rounded = literals.filter((text) => ours(text) === undefined && /^[-+]?[1-9]\d*$/.test(text));
      expect(rounded.length).toBeGreaterThan(5);
      for (const [index, text] of (await stored(rounded)).entries())
        expect(text, rounded[index]).not.toBe(String(BigInt(rounded[index] ?? '')));
    });

    it('keep all digits when an object is taken over and given back', async () => {
      const ns = await newNamespace();
      await kubectl(['apply', '-f', '-'], yaml(definition('gauges', 'Gauge')));
      await kubectl(['wait', '--for=condition=Established', 'crd/gauges.gauges.example']);
      const gauge = (serial: string): string =>
        `apiVersion: gauges.example/v1\nkind: Gauge\nmetadata: {name: g, namespace: ${ns}, annotations: {fleet-ferry/wait: disabled}}\nspec: {serial: ${serial}, list: [9007199254740995]}\n`;
      const serial = () =>
        kubectl(['get', 'gauge', 'g', '-n', ns, '-o', 'jsonpath={.spec.serial} {.spec.list[0]}']);
      await kubectl(['create', '-f', '-'], gauge('9007199254740993'));
      await using site = await newSite();
      await site.release([pack('app', gauge('9223372036854775807'))]);
      expect(await serial()).toBe('9223372036854775807 9007199254740995');
      expect(await driftOf(site)).toEqual([]);
      await kubectl([
        'patch',
        'gauge',
        'g',
        '-n',
        ns,
        '--type=merge',
        '-p',
        '{"spec":{"serial":9223372036854775806}}',
      ]);
      expect(await driftOf(site)).toMatchObject([{ what: 'content' }]);
      await site.release([]);
      expect(await serial()).toBe('9007199254740993 9007199254740995');
    });
  });
};
