import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSelected } from '#bundles/trust/accept/is-selected';

const name = fc.stringMatching(/^[a-z0-9]{1,12}$/);
const who = fc.record({ site: name, agent: name });
const labels = { ring: 'early', region: 'eu' };

describe('a rollout', () => {
  it('of 0 percent selects no agent, of 100 percent every agent', () => {
    fc.assert(
      fc.property(who, (agent) => {
        expect(isSelected({ percent: 0 }, agent, {})).toBe(false);
        expect(isSelected({ percent: 100 }, agent, {})).toBe(true);
      }),
    );
  });

  it('only ever adds agents when its percentage rises', () => {
    const percent = fc.integer({ min: 0, max: 100 });
    fc.assert(
      fc.property(who, percent, percent, (agent, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        if (isSelected({ percent: low }, agent, {})) {
          expect(isSelected({ percent: high }, agent, {})).toBe(true);
        }
      }),
    );
  });

  it('of 25 percent selects about a quarter of 2,000 agents', () => {
    const agents = Array.from({ length: 2000 }, (_, index) => ({ site: `plant-${index}`, agent: 'line-1' }));
    const reached = agents.filter((agent) => isSelected({ percent: 25 }, agent, {})).length;
    expect(reached).toBeGreaterThan(430);
    expect(reached).toBeLessThan(570);
  });

  it('selects the same agents on every machine: the hash is part of the format', () => {
    // sha256('plant-7/line-1') begins with 7013d18d = 1880347021, mod 100 = 21.
    expect(isSelected({ percent: 21 }, { site: 'plant-7', agent: 'line-1' }, {})).toBe(false);
    expect(isSelected({ percent: 22 }, { site: 'plant-7', agent: 'line-1' }, {})).toBe(true);
  });

  it('needs every label of its selector', () => {
    const agent = { site: 'plant-7', agent: 'line-1' };
    const reaches = (selector: Record<string, string>) =>
      isSelected({ percent: 100, selector }, agent, labels);
    expect(reaches({})).toBe(true);
    expect(reaches({ ring: 'early' })).toBe(true);
    expect(reaches({ ring: 'early', region: 'eu' })).toBe(true);
    expect(reaches({ ring: 'early', region: 'us' })).toBe(false);
    expect(reaches({ line: '1' })).toBe(false);
    expect(reaches(JSON.parse('{"__proto__":"x"}'))).toBe(false);
  });

  it('selects an agent when any of its terms does', () => {
    const term = fc.record({
      percent: fc.integer({ min: 0, max: 100 }),
      selector: fc.constantFrom<Record<string, string>>({}, { ring: 'early' }, { ring: 'late' }),
    });
    fc.assert(
      fc.property(who, term, fc.array(term, { maxLength: 4 }), (agent, base, also) => {
        expect(isSelected({ ...base, also }, agent, labels)).toBe(
          [base, ...also].some((one) => isSelected(one, agent, labels)),
        );
      }),
    );
  });
});
