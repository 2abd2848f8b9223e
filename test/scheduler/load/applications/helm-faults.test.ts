import { describe, expect, it } from 'vitest';
import { formatError } from '#bundles/errors';
import { helmFailed, unstable } from '../../../../scheduler/load/applications/helm-faults.ts';

const told = (said: string): string => formatError(helmFailed(said, 'apps/web/', 'shop-web'));

describe('an error of helm', () => {
  it('is reported at its position in the chart', () => {
    expect(
      told('Error: execution error at (web/templates/a.yaml:3:4): a name is needed\n\nUse --debug'),
    ).toBe(
      'apps/web/templates/a.yaml:3:4: TEMPLATE_FAILED: shop-web: helm could not render it: a name is needed',
    );
    expect(
      told(
        'level=WARN msg=x\nError: template: web/templates/a.yaml:1:12: executing "web/templates/a.yaml" at <.Values.a.b>: nil pointer evaluating interface {}.b',
      ),
    ).toMatch(/^apps\/web\/templates\/a\.yaml:1:12: .*: at <\.Values\.a\.b>: nil pointer/);
    expect(told('Error: parse error at (web/templates/b.yaml:5): unclosed action')).toMatch(
      /^apps\/web\/templates\/b\.yaml:5: .*unclosed action/,
    );
  });

  it('is reported with all its lines', () => {
    expect(
      told(
        "Error: values don't meet the specifications of the schema(s) in the following chart(s):\nweb:\n- replicas: Invalid type",
      ),
    ).toContain('web: - replicas: Invalid type');
    expect(told('')).toContain('it gave no reason');
  });

  it('is reported as unstable with the first line that differs between two renderings, and its template', () => {
    const [one, two] = ['a', 'b'].map((word) =>
      Buffer.from(
        `---\n# Source: web/templates/a.yaml\nx: 1\n---\n# Source: web/templates/s.yaml\nsecret: ${word}\n`,
      ),
    );
    expect(
      formatError(
        unstable(one as Buffer, two as Buffer, { shown: 'apps/web/', subject: 'shop-web', calls: [] }),
      ),
    ).toMatch(/^apps\/web\/templates\/s\.yaml: TEMPLATE_FAILED: .* differently each time: "secret" differs/);
    const call = { name: 'randAlphaNum', at: { file: 'apps/web/templates/s.yaml', line: 3, column: 9 } };
    const other = { name: 'now', at: { file: 'apps/web/templates/a.yaml', line: 1, column: 4 } };
    expect(
      formatError(
        unstable(one as Buffer, two as Buffer, {
          shown: 'apps/web/',
          subject: 'shop-web',
          calls: [other, call],
        }),
      ),
    ).toMatch(
      /^apps\/web\/templates\/s\.yaml:3:9: TEMPLATE_FAILED: .*"secret" differs \(the chart calls randAlphaNum\)/,
    );
  });
});
