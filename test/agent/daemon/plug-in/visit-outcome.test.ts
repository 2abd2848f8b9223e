import { describe, expect, it } from 'vitest';
import type { Progress, Taken } from '../../../../agent/daemon/plug-in/progress.ts';
import { visitOutcomeOf } from '../../../../agent/daemon/plug-in/visit-outcome.ts';

const applied: Taken = { kind: 'applied', release: 5, failed: [], held: [] };
const reported = (more: Partial<Extract<Progress, { phase: 'reported' }>> = {}): Progress => ({
  phase: 'reported',
  taken: applied,
  reported: { kind: 'written', events: 3 },
  ...more,
});
const refused = (code: 'WRONG_SITE' | 'ROLLBACK' | 'EXPIRED'): Progress => ({
  phase: 'taken',
  taken: { kind: 'refused', code, message: 'detail', exit: 4 },
});

describe('visitOutcomeOf', () => {
  it('contains what was installed, how much is reported, and that the medium can be unplugged', () => {
    expect(visitOutcomeOf('en', reported(), false)).toEqual({
      outcome: 'done',
      text: 'DONE: Release 5 is installed. 3 events for the office are on the stick. You can unplug the stick.',
    });
  });

  it('is in the language of the site', () => {
    expect(visitOutcomeOf('de', reported(), undefined).text).toBe(
      'FERTIG: Version 5 ist installiert. 3 Meldungen für die Zentrale sind auf dem Stick.',
    );
  });

  it.each([
    ['full', 'The stick is full'],
    ['read-only', 'The stick is write-protected'],
    ['unreadable', 'The stick was pulled out'],
  ] as const)('asks for attention when the reports could not be written (%s)', (kind, sentence) => {
    const { outcome, text } = visitOutcomeOf('en', reported({ reported: { kind } }), false);
    expect(outcome).toBe('attention');
    expect(text).toContain(sentence);
  });

  it('names packages that failed', () => {
    const { outcome, text } = visitOutcomeOf(
      'en',
      reported({ taken: { ...applied, failed: ['line'] } }),
      false,
    );
    expect(outcome).toBe('attention');
    expect(text).toContain('These packages failed: line.');
  });

  it.each([
    ['WRONG_SITE', 'The stick is for another site.'],
    ['ROLLBACK', 'A newer release was installed before.'],
    ['EXPIRED', 'Call the office.'],
  ] as const)('has the reason why a medium was refused, with the code %s', (code, sentence) => {
    const { outcome, text } = visitOutcomeOf('en', refused(code), false);
    expect(outcome).toBe('stopped');
    expect(text).toContain(sentence);
    expect(text).toContain(`(${code}: detail)`);
  });

  it.each([
    [{ phase: 'mounting' }, 'its file system is damaged'],
    [{ phase: 'taking' }, 'was interrupted'],
    [{ phase: 'reporting', taken: applied }, 'Release 5 is installed. The work was interrupted.'],
    [{ phase: 'stopped', why: { kind: 'encrypted' } }, 'encrypted as a whole'],
    [{ phase: 'stopped', why: { kind: 'in-use', at: '/media/anna/X' } }, 'opened the stick (/media/anna/X)'],
    [
      {
        phase: 'stopped',
        why: { kind: 'configuration', message: 'agent.yaml:1:1: there is no key "plugin"' },
      },
      'The settings of this machine are invalid, so the stick was not read. Call the office. (agent.yaml:1:1: there is',
    ],
    [{ phase: 'taken', taken: { kind: 'unreadable' } }, 'pulled out too early'],
  ] as const)('has the reason why a medium stopped at %j', (progress, sentence) => {
    const { outcome, text } = visitOutcomeOf('en', progress, false);
    expect(outcome).toBe('stopped');
    expect(text).toContain(sentence);
  });

  it('leaves a medium alone that is not of this fleet', () => {
    const { outcome } = visitOutcomeOf('en', { phase: 'taken', taken: { kind: 'foreign' } }, false);
    expect(outcome).toBe('left-alone');
    expect(visitOutcomeOf('en', undefined, false)).toEqual({ outcome: 'left-alone', text: '' });
  });

  it('warns when the medium is still mounted', () => {
    expect(visitOutcomeOf('en', reported(), true).text).toContain('still in use');
  });
});
