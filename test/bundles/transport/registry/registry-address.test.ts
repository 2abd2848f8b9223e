import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { formatRegistryAddress, parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { refusal } from '../../refusal.ts';

describe('a registry address', () => {
  it.each([
    ['oci://registry.example', 'registry.example', ''],
    ['oci://registry.example/', 'registry.example', ''],
    ['oci://registry.example:5000/factory/fleet', 'registry.example:5000', 'factory/fleet'],
    ['oci://Registry.Example/factory', 'registry.example', 'factory'],
    ['oci://10.1.2.3:443/a', '10.1.2.3:443', 'a'],
    ['oci://[::1]:5000/a-b/c_d/e.f', '[::1]:5000', 'a-b/c_d/e.f'],
  ])('%s has host %s and prefix %s', (text, host, prefix) => {
    expect(parseRegistryAddress(text)).toEqual({ host, prefix });
  });

  it.each([
    'registry.example/factory',
    'https://registry.example/factory',
    'oci://',
    'oci:///factory',
    'oci://registry.example:0/a',
    'oci://registry.example:70000/a',
    'oci://registry_example/a',
    'oci://-x/a',
    'oci://registry.example/Factory',
    'oci://registry.example/factory//fleet',
    'oci://registry.example/factory:v1',
    `oci://registry.example/factory@sha256:${'0'.repeat(64)}`,
    'oci://registry.example/../v2',
    'oci://registry.example/a?b',
    'oci://registry.example/a b',
    `oci://registry.example/${'a'.repeat(300)}`,
  ])('%s is refused', (text) => {
    expect(refusal(() => parseRegistryAddress(text))).toBe('USAGE');
  });

  it('with a password in it is refused without repeating the password', () => {
    try {
      parseRegistryAddress('oci://robot:hunter2@registry.example/a');
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(FleetError);
      expect(JSON.stringify([error, (error as FleetError).message])).not.toContain('hunter2');
    }
  });

  it('any text is refused with a code or parsed to an address that is written and parsed the same', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...Array.from('az09.:/-_[]@')) })),
        (rest) => {
          const text = `oci://${rest}`;
          if (refusal(() => parseRegistryAddress(text)) !== undefined) return;
          const address = parseRegistryAddress(text);
          expect(parseRegistryAddress(formatRegistryAddress(address))).toEqual(address);
        },
      ),
    );
  });
});
