import { describe, expect, it } from 'vitest';
import { editSettings, settingsOf } from '../../../scheduler/setup/edit-settings.ts';

const FILE = `# The hub of the plant
keys: keys   # beside this file
layout: layout

# Receivers of alarms
alarms:
  repeat: 12h
  receivers:
    # the office
    - name: desk
      webhook: { url: 'https://desk.example/hook', secretFile: secret }
hostnames: [hub.example]
`;

describe('editSettings', () => {
  it('writes a new file below a comment about its paths', () => {
    expect(editSettings('', { keys: 'keys', hostnames: ['hub.example'] })).toBe(
      '# Configuration of fleet-scheduler. Paths are relative to this file.\nkeys: keys\nhostnames:\n  - hub.example\n',
    );
  });

  it('keeps the comments of a file that has nothing else', () => {
    expect(editSettings('# not yet\n', { keys: 'keys' })).toBe('# not yet\nkeys: keys\n');
    expect(editSettings('# not yet', { keys: 'keys' })).toBe('# not yet\nkeys: keys\n');
    expect(editSettings('{}\n', { keys: 'keys' })).toBe('keys: keys\n');
  });

  it('changes the lines of the setting alone, and keeps comments, order and quotes', () => {
    const settings = settingsOf(FILE);
    const [desk] = settings.alarms?.receivers ?? [];
    const email = { server: 'smtps://mail.example', from: 'a@mail.example', to: ['b@mail.example'] };
    const receivers = [...(desk ? [desk] : []), { name: 'mail', email }];
    const changed = editSettings(FILE, { ...settings, alarms: { repeat: '12h', receivers } });
    const added = `    - name: mail
      email:
        server: smtps://mail.example
        from: a@mail.example
        to:
          - b@mail.example
`;
    expect(changed).toBe(FILE.replace('hostnames:', `${added}hostnames:`));
    expect(settingsOf(changed).alarms?.receivers).toEqual(receivers);
  });

  it('removes a setting, and returns the same text where nothing changes', () => {
    const { hostnames: _, ...others } = settingsOf(FILE);
    expect(editSettings(FILE, others)).toBe(FILE.replace('hostnames: [hub.example]\n', ''));
    expect(editSettings(FILE, settingsOf(FILE))).toBe(FILE);
  });
});
