import { expect, test } from 'vitest';
import { chartImages } from '../../../../scheduler/load/applications/chart-images.ts';

const chart = (annotation: string): Buffer =>
  Buffer.from(
    `apiVersion: v2\nname: db\nannotations:\n  artifacthub.io/images: |\n${annotation.replace(/^/gm, '    ')}\n`,
  );

test("chartImages reads the annotation with a chart's images, with its line", () => {
  const list =
    '- name: db\n  image: quay.io/a/db:1\n  platforms: [linux/amd64]\n- name: init\n  image: quay.io/a/init:2';
  expect(chartImages('charts/db/Chart.yaml', chart(list))).toEqual(
    ['quay.io/a/db:1', 'quay.io/a/init:2'].map((image) => ({
      image,
      at: { file: 'charts/db/Chart.yaml', line: 4, column: 26 },
    })),
  );
});

test.each(['{}', '- [', '- image: Not An Image', 'just text', '- {name: x}', '- &a [*a]'])(
  'chartImages ignores an annotation in another form: %s',
  (annotation) => {
    expect(chartImages('Chart.yaml', chart(annotation))).toEqual([]);
  },
);

test('chartImages is empty for a chart without the annotation, and for one that is not YAML', () => {
  expect(chartImages('Chart.yaml', Buffer.from('name: db\n'))).toEqual([]);
  expect(chartImages('Chart.yaml', Buffer.from('name: [\n'))).toEqual([]);
});
