import { describe, expect, it } from 'vitest';
import type { Platform, RenderedPackage } from '../../../scheduler/model/model.ts';
import { templateAdvice } from '../../../scheduler/render/template-advice.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../model-objects.ts';

/** What is advised of a Go template that printed `output`, with a configuration in which `db.host` and `zone` are set. */
const advice = (text: string, output: string): readonly string[] => {
  const at = { file: 'templates/old.yaml', line: 10, column: 1 };
  const type = clusterType('edge', { reconciler: 'old' });
  const one: RenderedPackage = {
    ...renderedPackage(type, target('shop/web')),
    configData: { db: { host: 'a' }, zone: 'eu', empty: null },
    files: renderedFiles({ 'reconciler.yaml': output }),
  };
  const template = { name: 'old', type: 'reconciler', engine: 'go', manifests: [{ text, at }], at };
  const platform = {
    templates: new Map([['old', template]]),
    clusterTypes: [type],
  } as unknown as Platform;
  return templateAdvice(platform, { assignments: [one.assignment] }, [one])
    .filter(({ message }) => message.includes('<no value>'))
    .map(({ message, at: place }) => `${place?.line}: ${message}`);
};

describe('advice about a value printed as <no value>', () => {
  it.each([
    ['a field', '{{ .ConfigData.url }}', 'ConfigData.url'],
    ['a field of the root', '{{ range .x }}{{ $.ConfigData.url }}{{ end }}', 'ConfigData.url'],
    ['a nested field', '{{ .ConfigData.db.port }}', 'ConfigData.db.port'],
    ['a field of nothing', '{{ .ConfigData.mqtt.broker.host }}', 'ConfigData.mqtt.broker.host'],
    ['null', '{{ .ConfigData.empty }}', 'ConfigData.empty'],
  ])('names the key: %s', (_, action, key) => {
    const text = `host: {{ .ConfigData.db.host }}\nurl: ${action}`;
    expect(advice(text, 'host: a\nurl: <no value>\n')).toEqual([
      expect.stringMatching(
        new RegExp(
          `^11: ${key.replaceAll('.', '\\.')} has no value in edge/.*, and is printed as <no value>$`,
        ),
      ),
    ]);
  });

  it('names the printed line, when it cannot be attributed to one key', () => {
    expect(advice('url: {{ index .ConfigData "url" }}', 'a: b\nurl: <no value>\n')).toEqual([
      expect.stringMatching(
        /^10: a value on line 2 of reconciler\.yaml is not set in edge\/shop-web, and is printed as <no value>$/,
      ),
    ]);
  });
});
