-- Rows of a 0.1.0 database, as its server wrote them through the RPCs; every moment is that of loading.
INSERT INTO audit_log (id, at, rpc, subject_id, detail) OVERRIDING SYSTEM VALUE VALUES
(1, now(), 'CreateIngestToken', '01a20108-9962-7ada-ad8e-6afc325be985', 'name ''frontend'''),
(2, now(), 'UpdateIngestTokenRouting', '01a20108-9962-7ada-ad8e-6afc325be985', 'logs 01a20108-991a-792f-8c91-6c2206629ea5, traces 01a20108-991a-792f-8c91-6c2206629ea5, metrics 01a20108-991a-792f-8c91-6c2206629ea5 became logs 01a20108-991a-792f-8c91-6c2206629ea5, traces 01a20108-9931-775a-b68e-9d31fac211d4, metrics 01a20108-991a-792f-8c91-6c2206629ea5'),
(3, now(), 'CreateIngestToken', '01a20108-99ba-773e-9a8e-3a5e85b3bbb6', 'name ''retired'''),
(4, now(), 'RevokeIngestToken', '01a20108-99ba-773e-9a8e-3a5e85b3bbb6', 'name ''retired'''),
(5, now(), 'DeleteDataset', '01a20108-993c-70c6-8c96-fb84d420b0ca', 'name ''old-logs''');
SELECT setval(pg_get_serial_sequence('audit_log', 'id'), (SELECT max(id) FROM audit_log));
INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records, flush_id, dataset_ids, committed_at, reaped_at) OVERRIDING SYSTEM VALUE VALUES
('01a20108-99e5-76ea-9105-e5e47202c1e8', 0, 1000, 2000, 1000, 10, E'\\x00000000000000000000000000000000', '{01a20108-991a-792f-8c91-6c2206629ea5,01a20108-9931-775a-b68e-9d31fac211d4}', now(), now()),
('01a20108-99e5-76ea-9105-e5e47202c1e8', 1, 1000, 2000, 1000, 10, E'\\x01010101010101010101010101010101', '{01a20108-991a-792f-8c91-6c2206629ea5,01a20108-9931-775a-b68e-9d31fac211d4}', now(), now()),
('01a20108-99e5-76ea-9105-e5e47202c1e8', 2, 1000, 2000, 1000, 10, E'\\x02020202020202020202020202020202', '{01a20108-991a-792f-8c91-6c2206629ea5,01a20108-9931-775a-b68e-9d31fac211d4}', now(), NULL),
('01a20108-99e5-76ea-9105-e5e47202c1e8', 3, 1000, 2000, 1000, 10, E'\\x03030303030303030303030303030303', '{01a20108-991a-792f-8c91-6c2206629ea5,01a20108-9931-775a-b68e-9d31fac211d4}', now(), NULL),
('01a20108-99e5-76ea-9105-e5e47202c1e8', 4, 1000, 2000, 1000, 10, E'\\x04040404040404040404040404040404', '{01a20108-991a-792f-8c91-6c2206629ea5,01a20108-9931-775a-b68e-9d31fac211d4}', now(), NULL),
('01a20108-99e5-76ea-9105-e5e47202c1e8', 5, 1000, 2000, 1000, 10, E'\\x05050505050505050505050505050505', '{01a20108-991a-792f-8c91-6c2206629ea5,01a20108-9931-775a-b68e-9d31fac211d4}', now(), NULL),
('01a20108-9a82-7f93-b279-c439becfced1', 0, 1000, 2000, 1000, 10, NULL, NULL, now(), NULL),
('01a20108-9a82-7f93-b279-c439becfced1', 1, 1000, 2000, 1000, 10, NULL, NULL, now(), NULL),
('01a20108-9a82-7f93-b279-c439becfced1', 2, 1000, 2000, 1000, 10, NULL, NULL, now(), NULL);
INSERT INTO dataset_stats (dataset_key, live_segments, live_size_bytes, live_compressed_size_bytes, all_segments, open_tasks) OVERRIDING SYSTEM VALUE VALUES
(1, 0, 0, 0, 0, 0),
(2, 34, 170000, 34000, 34, 3),
(3, 21, 105000, 21000, 21, 2),
(4, 1, 15000, 3000, 4, 0);
INSERT INTO dataset_usage (dataset_id, month, slot, records) OVERRIDING SYSTEM VALUE VALUES
('01a20108-991a-792f-8c91-6c2206629ea5', '2026-11', 60, 30),
('01a20108-9931-775a-b68e-9d31fac211d4', '2026-11', 60, 30);
INSERT INTO datasets (id, key, name, is_default, created_at, deleted_at, purged_at, deletion_horizon, event_retention_secs, created_retention_secs, tombstone_grace_secs, records_per_month, changed_version) OVERRIDING SYSTEM VALUE VALUES
('01a20108-989b-77b0-a91d-1b388cce56f9', 1, 'default', 'true', now(), NULL, NULL, 0, NULL, NULL, NULL, 0, 0),
('01a20108-991a-792f-8c91-6c2206629ea5', 2, 'app-logs', 'false', now(), NULL, NULL, 0, 0, 0, 0, 0, 0),
('01a20108-9931-775a-b68e-9d31fac211d4', 3, 'app-traces', 'false', now(), NULL, NULL, 0, NULL, NULL, NULL, 0, 0),
('01a20108-993c-70c6-8c96-fb84d420b0ca', 4, 'old-logs', 'false', now(), now(), NULL, 0, NULL, NULL, NULL, 0, 0);
SELECT setval(pg_get_serial_sequence('datasets', 'key'), (SELECT max(key) FROM datasets));
INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash, created_at, stopped_at_nanos, stopped_offset, stop_reason, deleted_offset, deleted_ingest_time_nanos, retired_at, changed_version) OVERRIDING SYSTEM VALUE VALUES
('01a20108-99e5-76ea-9105-e5e47202c1e8', 'collector-1', '', 1912783336, now(), NULL, NULL, NULL, 1, 8000000000, NULL, 16),
('01a20108-9a82-7f93-b279-c439becfced1', 'collector-2', '', 1053806289, now(), 1795313671111368000, 2, 1, -1, 0, NULL, 17);
INSERT INTO merge_attempts (task_id, attempt, worker_id, claimed_at, ended_at, outcome, error, failed_segment_id) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9c09-7d95-b961-386bd0b7f388', 1, 'worker', now(), NULL, NULL, NULL, NULL),
('01a20108-9c45-79a0-b8c6-1417638e4c7c', 1, 'worker', now(), now(), 'completed', NULL, NULL);
INSERT INTO merge_task_inputs (segment_id, task_id, position) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9ab3-7b26-a0e2-42e4152036ef', '01a20108-9c09-7d95-b961-386bd0b7f388', 0),
('01a20108-9b8d-7f91-8301-1f7e490e626e', '01a20108-9c09-7d95-b961-386bd0b7f388', 1),
('01a20108-9ba1-7b37-9959-0561461006fe', '01a20108-9c09-7d95-b961-386bd0b7f388', 2),
('01a20108-9ba1-7b6f-ac19-37eea53aea53', '01a20108-9c09-7d95-b961-386bd0b7f388', 3),
('01a20108-9bcb-75d7-a38e-9ab1a24e70bd', '01a20108-9c09-7e81-85ff-783ce76a9d13', 0),
('01a20108-9bcb-7609-8ca1-64f0f91807b8', '01a20108-9c09-7e81-85ff-783ce76a9d13', 1),
('01a20108-9bcb-7614-9f5d-60c2ab61a740', '01a20108-9c09-7e81-85ff-783ce76a9d13', 2),
('01a20108-9bcb-761c-b16a-b4c52a666990', '01a20108-9c09-7e81-85ff-783ce76a9d13', 3),
('01a20108-9bcb-7623-ae3f-d0443169d872', '01a20108-9c09-7e81-85ff-783ce76a9d13', 4),
('01a20108-9bcb-762b-981c-163beeb02f8f', '01a20108-9c09-7e81-85ff-783ce76a9d13', 5),
('01a20108-9bcb-7634-aca5-441d2dbe95ba', '01a20108-9c09-7e81-85ff-783ce76a9d13', 6),
('01a20108-9bcb-763b-9771-f1793bf88e2b', '01a20108-9c09-7e81-85ff-783ce76a9d13', 7),
('01a20108-9bcb-7642-a377-e13237ca3821', '01a20108-9c09-7e81-85ff-783ce76a9d13', 8),
('01a20108-9bcb-764a-8e1f-eb2f5414c7e3', '01a20108-9c09-7e81-85ff-783ce76a9d13', 9),
('01a20108-9bcb-7651-a1b8-de33c2d6ff48', '01a20108-9c09-7e81-85ff-783ce76a9d13', 10),
('01a20108-9bcb-7658-9acf-005913024104', '01a20108-9c09-7e81-85ff-783ce76a9d13', 11),
('01a20108-9bcb-765f-bc2f-0c2abeeda1b5', '01a20108-9c09-7e81-85ff-783ce76a9d13', 12),
('01a20108-9bcb-7666-a438-42d6db729bee', '01a20108-9c09-7e81-85ff-783ce76a9d13', 13),
('01a20108-9bcb-766c-a99d-395ebad7cbbd', '01a20108-9c09-7e81-85ff-783ce76a9d13', 14),
('01a20108-9bcb-7673-a3fc-8d9994e5120d', '01a20108-9c09-7e81-85ff-783ce76a9d13', 15),
('01a20108-9bcb-767a-8b00-deed404cb2f6', '01a20108-9c09-7ec5-912c-3516a33be469', 0),
('01a20108-9bcb-7681-99dd-411e6eeae897', '01a20108-9c09-7ec5-912c-3516a33be469', 1),
('01a20108-9bcb-7687-8033-d1ee9e2ea36f', '01a20108-9c09-7ec5-912c-3516a33be469', 2),
('01a20108-9bcb-768e-b8ff-266cb61c1c16', '01a20108-9c09-7ec5-912c-3516a33be469', 3),
('01a20108-9bcb-7695-8a36-7e2ef4bb2e1f', '01a20108-9c09-7ec5-912c-3516a33be469', 4),
('01a20108-9bcb-769c-8624-6d976390bb2d', '01a20108-9c09-7ec5-912c-3516a33be469', 5),
('01a20108-9bcb-76a3-9094-5d994660bcf3', '01a20108-9c09-7ec5-912c-3516a33be469', 6),
('01a20108-9bcb-76a9-9395-b48c7a06748e', '01a20108-9c09-7ec5-912c-3516a33be469', 7),
('01a20108-9bcb-76b0-9739-1a658c2c1339', '01a20108-9c09-7ec5-912c-3516a33be469', 8),
('01a20108-9bcb-76b7-b279-d8d6ac578188', '01a20108-9c09-7ec5-912c-3516a33be469', 9),
('01a20108-9bcb-76be-8710-e6f53d4df25a', '01a20108-9c09-7ec5-912c-3516a33be469', 10),
('01a20108-9bcb-76c4-82a8-1d11d9e64622', '01a20108-9c09-7ec5-912c-3516a33be469', 11),
('01a20108-9bcb-76cb-894c-cd9ad4cfe287', '01a20108-9c09-7ec5-912c-3516a33be469', 12),
('01a20108-9bcb-76d2-bb36-f5cad40ff53a', '01a20108-9c09-7ec5-912c-3516a33be469', 13),
('01a20108-9be1-7416-99b0-c629bd8dad8d', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 0),
('01a20108-9be1-744e-9239-a57497b981aa', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 1),
('01a20108-9be1-7458-9ef1-9c4f76e168a4', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 2),
('01a20108-9be1-7460-b5ea-9bb5ed144584', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 3),
('01a20108-9be1-7468-bb11-3dee119e3e67', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 4),
('01a20108-9be1-7470-9a02-b8dc82f9342c', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 5),
('01a20108-9be1-7477-b0ef-2559aa84ef9c', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 6),
('01a20108-9be1-747e-a950-9fe525364f3e', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 7),
('01a20108-9be1-7485-bbaf-aba6225aea72', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 8),
('01a20108-9be1-748c-aebe-cd07acec2e91', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 9),
('01a20108-9be1-7493-b86a-2c3a3efc9a9c', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 10),
('01a20108-9be1-7499-80e5-c7be21dfb190', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 11),
('01a20108-9be1-74a0-9934-0dffc31ca29e', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 12),
('01a20108-9be1-74a8-858e-710cbd8af4af', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 13),
('01a20108-9be1-74af-ae8c-4472ad11a414', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 14),
('01a20108-9be1-74b6-aa72-d7d77a853ff0', '01a20108-9c2e-70e9-bcb0-8418f07fe96c', 15),
('01a20108-9be1-74bc-b931-4b1e82693c63', '01a20108-9c2e-71cc-8f36-b5c66022edee', 0),
('01a20108-9be1-74c4-9a09-6bf6f6ea7c0a', '01a20108-9c2e-71cc-8f36-b5c66022edee', 1),
('01a20108-9be1-74cb-9e8c-ec9f45b495de', '01a20108-9c2e-71cc-8f36-b5c66022edee', 2),
('01a20108-9be1-74d1-9b2d-cbe5acb4be6d', '01a20108-9c2e-71cc-8f36-b5c66022edee', 3);
INSERT INTO merge_tasks (id, dataset_key, state, kind, attempt, worker_id, claimed_at, beat_at, free_at, failures, poison_failures, failed_at, rows_done, created_at, finished_at, output_segment_id, output_merge_count, segment_count, smallest_size, largest_size, smallest_compressed_size, largest_compressed_size, total_size, total_compressed_size, start_ns, end_ns) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9c09-7d95-b961-386bd0b7f388', 2, 1, 1, 1, 'worker', now(), NULL, now(), 0, 0, NULL, 0, now(), NULL, NULL, 1, 4, 5000, 5000, 1000, 1000, 20000, 4000, 1000, 2000),
('01a20108-9c09-7e81-85ff-783ce76a9d13', 2, 1, 1, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, now(), NULL, NULL, 1, 16, 5000, 5000, 1000, 1000, 80000, 16000, 1728000000000000000, 1728000015000000000),
('01a20108-9c09-7ec5-912c-3516a33be469', 2, 1, 1, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, now(), NULL, NULL, 1, 14, 5000, 5000, 1000, 1000, 70000, 14000, 1728000016000000000, 1728000029000000000),
('01a20108-9c2e-70e9-bcb0-8418f07fe96c', 3, 1, 1, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, now(), NULL, NULL, 1, 16, 5000, 5000, 1000, 1000, 80000, 16000, 1728000000000000000, 1728000015000000000),
('01a20108-9c2e-71cc-8f36-b5c66022edee', 3, 1, 1, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, now(), NULL, NULL, 1, 4, 5000, 5000, 1000, 1000, 20000, 4000, 1728000016000000000, 1728000019000000000),
('01a20108-9c45-79a0-b8c6-1417638e4c7c', 4, 2, 1, 1, 'worker', now(), NULL, NULL, 0, 0, NULL, 0, now(), now(), '01a20108-9ca9-72be-95e4-5c3d8bfbc03e', 1, 3, 5000, 5000, 1000, 1000, 15000, 3000, 1728000000000000000, 1728000002000000000);
DELETE FROM meta_state;
INSERT INTO meta_state (id, version, gap_start, gap_end, timeline, system_identifier, deletion_held, history_floor, removals_floor, token_pepper) OVERRIDING SYSTEM VALUE VALUES
(1, 22, 0, 0, NULL, NULL, 'false', 0, 0, E'\\x0c3e6965e40d4b45abcfd0209a80256b2a32809d79074b3a99a080b977c2e19c');
INSERT INTO object_identities (object_key, state, segment_id, changed_at) OVERRIDING SYSTEM VALUE VALUES
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/0dd3dd0b-d823-44f8-ab3b-86308c962255.parquet', 1, '01a20108-9bcb-7634-aca5-441d2dbe95ba', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/0e4d6d2b-fdce-4879-8c19-5d1b74805efb.parquet', 1, '01a20108-9bcb-76b7-b279-d8d6ac578188', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/10527354-17bd-426f-9a4b-d42387990216.parquet', 1, '01a20108-9bcb-7695-8a36-7e2ef4bb2e1f', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/1142a955-8d27-418f-a0bc-2988d64cd196.parquet', 1, '01a20108-9bcb-762b-981c-163beeb02f8f', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/170cbf69-dfdc-4eff-a0e3-bf15afe29400.parquet', 1, '01a20108-9bcb-7614-9f5d-60c2ab61a740', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/2166071a-6fd1-4ada-941e-c39b133bbb6b.parquet', 1, '01a20108-9bcb-767a-8b00-deed404cb2f6', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/2f20f41c-0758-429a-812c-dff5625a790f.parquet', 1, '01a20108-9bcb-763b-9771-f1793bf88e2b', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/311d58bf-7d44-46d2-91f2-028abbf1d272.parquet', 1, '01a20108-9b8d-7f91-8301-1f7e490e626e', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/39126c01-2758-47f2-9d34-a981163b987d.parquet', 1, '01a20108-9bcb-7681-99dd-411e6eeae897', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/4553b149-3553-4bbf-bb33-aa2a76349096.parquet', 1, '01a20108-9ab3-7b26-a0e2-42e4152036ef', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/4fc62c48-24dc-4f7a-9cfe-1bd688f8813e.parquet', 1, '01a20108-9bcb-75d7-a38e-9ab1a24e70bd', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/548a8156-4e5b-4d8d-bd87-c95a6cff8c4b.parquet', 1, '01a20108-9bcb-76be-8710-e6f53d4df25a', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/5a5a16f6-4687-4c8d-8188-f485f2b75dbf.parquet', 1, '01a20108-9bcb-7623-ae3f-d0443169d872', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/6afabef8-03ba-472e-83ee-0b75dff44b52.parquet', 1, '01a20108-9bcb-76d2-bb36-f5cad40ff53a', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/6b36d709-4315-4ce1-8e98-908c277078b7.parquet', 1, '01a20108-9bcb-7651-a1b8-de33c2d6ff48', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/6b49075e-6a31-43cd-ae0d-f4aa84c91a14.parquet', 1, '01a20108-9bcb-7666-a438-42d6db729bee', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/77fc101f-e21f-4ff4-ae63-7a0e80f7e604.parquet', 1, '01a20108-9bcb-76c4-82a8-1d11d9e64622', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/81e6d271-5b34-49ca-984b-a0fcb0da97f2.parquet', 1, '01a20108-9bcb-7673-a3fc-8d9994e5120d', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/86a79338-62f2-4e4b-9154-a1b17918d1bb.parquet', 1, '01a20108-9bcb-76a3-9094-5d994660bcf3', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/890ed83d-532d-4409-85e8-a42d525314a1.parquet', 1, '01a20108-9bcb-76b0-9739-1a658c2c1339', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/89167aec-3662-46d7-b0f7-00b9014ba240.parquet', 1, '01a20108-9bcb-765f-bc2f-0c2abeeda1b5', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/ab34bb04-fbee-45cf-9450-a53234c79e59.parquet', 1, '01a20108-9bcb-76a9-9395-b48c7a06748e', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/bc63c5a1-9da4-4fe1-abb4-e1ef578aeecb.parquet', 1, '01a20108-9ba1-7b37-9959-0561461006fe', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/c15115f9-5bd5-48ca-8648-f5bf264dda50.parquet', 1, '01a20108-9bcb-7642-a377-e13237ca3821', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/c8f5c55c-3d11-4f7d-bc23-13e6a54d5c94.parquet', 1, '01a20108-9bcb-764a-8e1f-eb2f5414c7e3', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/d0341248-00cc-40be-8644-896dfc1c7793.parquet', 1, '01a20108-9bcb-768e-b8ff-266cb61c1c16', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/d1342702-abf5-456c-94ce-9dbc581b3ac7.parquet', 1, '01a20108-9bcb-7687-8033-d1ee9e2ea36f', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/db636cde-a471-4af9-8c9b-62bb56b6c9d1.parquet', 1, '01a20108-9bcb-7658-9acf-005913024104', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/ddfae3ac-e6ff-4399-a772-e88e8e402076.parquet', 1, '01a20108-9bcb-761c-b16a-b4c52a666990', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/e71e27f2-c6c1-46e0-ab7c-7b1f24327177.parquet', 1, '01a20108-9bcb-76cb-894c-cd9ad4cfe287', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/e83da50b-4c42-4895-ac86-5c40219ffe9b.parquet', 1, '01a20108-9ba1-7b6f-ac19-37eea53aea53', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/ead3be43-afdb-4659-b024-c03418a7c446.parquet', 1, '01a20108-9bcb-769c-8624-6d976390bb2d', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/f6240567-7b5a-40bd-9f0b-6485cf53e1dc.parquet', 1, '01a20108-9bcb-7609-8ca1-64f0f91807b8', now()),
('dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged/fd86e516-c444-42ee-bce2-60bf39265dbf.parquet', 1, '01a20108-9bcb-766c-a99d-395ebad7cbbd', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/022f9f30-9618-49ca-97c1-e4da9976d23f.parquet', 1, '01a20108-9be1-74af-ae8c-4472ad11a414', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/1f1d6342-68fd-4fd9-acf4-2779bd195f9e.parquet', 1, '01a20108-9be1-74b6-aa72-d7d77a853ff0', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/2a3ff510-80b7-4e05-82e5-ebbd28d69202.parquet', 1, '01a20108-9be1-74cb-9e8c-ec9f45b495de', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/2f2da6b6-6e38-4fc8-bcda-0542080011e0.parquet', 1, '01a20108-9be1-74a0-9934-0dffc31ca29e', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/2f4d8669-23d1-4bfd-a33e-70356ed22df3.parquet', 1, '01a20108-9be1-7458-9ef1-9c4f76e168a4', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/331f606e-a0b7-4c06-9e7c-f751d4c1db5c.parquet', 1, '01a20108-9be1-747e-a950-9fe525364f3e', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/41ec9b27-9a4d-4f1c-ae84-570a838506d5.parquet', 1, '01a20108-9be1-7485-bbaf-aba6225aea72', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/43f14505-2a1c-4688-8291-ae3ea26d9dd5.parquet', 1, '01a20108-9be1-74a8-858e-710cbd8af4af', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/557dd580-7152-4793-ae7e-7b4ec5a24436.parquet', 1, '01a20108-9b23-76a5-ac6b-ee6dd4a6b6f4', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/5bdba5f3-dd7b-4301-bb9b-58787c941731.parquet', 1, '01a20108-9be1-7460-b5ea-9bb5ed144584', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/70ebf5a2-8a47-412d-be0d-505a311d183e.parquet', 1, '01a20108-9be1-7493-b86a-2c3a3efc9a9c', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/72b837d1-3197-4e98-9970-cf279f3609ea.parquet', 1, '01a20108-9be1-74d1-9b2d-cbe5acb4be6d', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/7b32f134-f8d1-4ff4-80cf-e2be6299a363.parquet', 1, '01a20108-9be1-7468-bb11-3dee119e3e67', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/892b2848-e0ec-4723-87bb-4f14f594ddfd.parquet', 1, '01a20108-9be1-7499-80e5-c7be21dfb190', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/8f2b7e2a-80df-481d-9cbf-b8c7d2dee042.parquet', 1, '01a20108-9be1-7470-9a02-b8dc82f9342c', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/9a7035ea-b7e9-4b2b-9804-ffddd647149a.parquet', 1, '01a20108-9be1-748c-aebe-cd07acec2e91', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/a69a233f-6713-4d81-b090-0d97671d86a9.parquet', 1, '01a20108-9be1-74c4-9a09-6bf6f6ea7c0a', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/bc259f6c-f72d-422b-91d3-3299524c30e9.parquet', 1, '01a20108-9be1-74bc-b931-4b1e82693c63', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/d16f84f7-dd18-470a-a4a8-8d3990e680ef.parquet', 1, '01a20108-9be1-7416-99b0-c629bd8dad8d', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/e4723655-8c79-4c09-8651-a398296d20bf.parquet', 1, '01a20108-9be1-744e-9239-a57497b981aa', now()),
('dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged/ee95dd5f-63f6-443b-a37e-26fba69b8055.parquet', 1, '01a20108-9be1-7477-b0ef-2559aa84ef9c', now()),
('dataset/01a20108-993c-70c6-8c96-fb84d420b0ca/merged/01a20108-9c45-79a0-b8c6-1417638e4c7c-1/out.parquet', 1, '01a20108-9ca9-72be-95e4-5c3d8bfbc03e', now()),
('dataset/01a20108-993c-70c6-8c96-fb84d420b0ca/merged/40471fa4-a80c-4d09-b4b6-f74d5ab8d079.parquet', 1, '01a20108-9bef-7e1e-a75d-fd1a01294d70', now()),
('dataset/01a20108-993c-70c6-8c96-fb84d420b0ca/merged/49b58a4f-e1c3-417a-a400-717d46b5faa0.parquet', 1, '01a20108-9bef-7e13-9c86-68697fa1e9f3', now()),
('dataset/01a20108-993c-70c6-8c96-fb84d420b0ca/merged/70ed7680-ff16-4104-8f29-63fcd9b8672d.parquet', 1, '01a20108-9bef-7de1-b4f2-dba00afb7479', now());
INSERT INTO offset_checkpoints (stream_id, dataset_id, version, stream_offset, ingest_timestamp_nanos, created_at) OVERRIDING SYSTEM VALUE VALUES
('01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-991a-792f-8c91-6c2206629ea5', 11, 3, 7000000000, now()),
('01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-991a-792f-8c91-6c2206629ea5', 15, 4, 7000000000, now()),
('01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-9931-775a-b68e-9d31fac211d4', 12, 1, 7000000000, now()),
('01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-9931-775a-b68e-9d31fac211d4', 13, 3, 7000000000, now()),
('01a20108-9a82-7f93-b279-c439becfced1', '01a20108-991a-792f-8c91-6c2206629ea5', 14, 0, 7000000000, now()),
('01a20108-9a82-7f93-b279-c439becfced1', '01a20108-991a-792f-8c91-6c2206629ea5', 15, 1, 7000000000, now());
INSERT INTO registrations (id, stream_id, dataset_id, start_offset, end_offset, ingest_time_nanos, version, segment_id, part, created_at) OVERRIDING SYSTEM VALUE VALUES
(1, '01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-991a-792f-8c91-6c2206629ea5', -1, 3, 7000000000, 11, '01a20108-9ab3-7b26-a0e2-42e4152036ef', 0, now()),
(2, '01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-9931-775a-b68e-9d31fac211d4', -1, 1, 7000000000, 12, '01a20108-9b23-76a5-ac6b-ee6dd4a6b6f4', 0, now()),
(3, '01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-9931-775a-b68e-9d31fac211d4', 1, 3, 7000000000, 13, NULL, 0, now()),
(4, '01a20108-9a82-7f93-b279-c439becfced1', '01a20108-991a-792f-8c91-6c2206629ea5', -1, 0, 7000000000, 14, '01a20108-9b8d-7f91-8301-1f7e490e626e', 0, now()),
(5, '01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-991a-792f-8c91-6c2206629ea5', 3, 4, 7000000000, 15, '01a20108-9ba1-7b37-9959-0561461006fe', 0, now()),
(6, '01a20108-9a82-7f93-b279-c439becfced1', '01a20108-991a-792f-8c91-6c2206629ea5', 0, 1, 7000000000, 15, '01a20108-9ba1-7b37-9959-0561461006fe', 0, now()),
(7, '01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-991a-792f-8c91-6c2206629ea5', 3, 4, 7000000000, 15, '01a20108-9ba1-7b6f-ac19-37eea53aea53', 1, now()),
(8, '01a20108-9a82-7f93-b279-c439becfced1', '01a20108-991a-792f-8c91-6c2206629ea5', 0, 1, 7000000000, 15, '01a20108-9ba1-7b6f-ac19-37eea53aea53', 1, now());
SELECT setval(pg_get_serial_sequence('registrations', 'id'), (SELECT max(id) FROM registrations));
INSERT INTO routing_periods (stream_id, token_id, from_offset, logs_dataset_id, traces_dataset_id, metrics_dataset_id) OVERRIDING SYSTEM VALUE VALUES
('01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-9962-7ada-ad8e-6afc325be985', 0, '01a20108-991a-792f-8c91-6c2206629ea5', '01a20108-9931-775a-b68e-9d31fac211d4', '01a20108-991a-792f-8c91-6c2206629ea5'),
('01a20108-9a82-7f93-b279-c439becfced1', '01a20108-9962-7ada-ad8e-6afc325be985', 0, '01a20108-991a-792f-8c91-6c2206629ea5', '01a20108-9931-775a-b68e-9d31fac211d4', '01a20108-991a-792f-8c91-6c2206629ea5');
INSERT INTO schemas (id, name, created_at) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9d24-781f-9115-9362b45adbd8', 'http', now());
INSERT INTO segment_lineage (input_id, output_id) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9bef-7de1-b4f2-dba00afb7479', '01a20108-9ca9-72be-95e4-5c3d8bfbc03e'),
('01a20108-9bef-7e13-9c86-68697fa1e9f3', '01a20108-9ca9-72be-95e4-5c3d8bfbc03e'),
('01a20108-9bef-7e1e-a75d-fd1a01294d70', '01a20108-9ca9-72be-95e4-5c3d8bfbc03e');
INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, tombstone_version, tombstone_at, created_at, size_bytes, compressed_size_bytes, number_of_events, prefix, object_name, merge_count, quarantined_at) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9ab3-7b26-a0e2-42e4152036ef', 2, 0, 1000, 2000, 11, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '4553b149-3553-4bbf-bb33-aa2a76349096.parquet', 0, NULL),
('01a20108-9b23-76a5-ac6b-ee6dd4a6b6f4', 3, 0, 1000, 2000, 12, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '557dd580-7152-4793-ae7e-7b4ec5a24436.parquet', 0, NULL),
('01a20108-9b8d-7f91-8301-1f7e490e626e', 2, 0, 1000, 2000, 14, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '311d58bf-7d44-46d2-91f2-028abbf1d272.parquet', 0, NULL),
('01a20108-9ba1-7b37-9959-0561461006fe', 2, 0, 1000, 2000, 15, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'bc63c5a1-9da4-4fe1-abb4-e1ef578aeecb.parquet', 0, NULL),
('01a20108-9ba1-7b6f-ac19-37eea53aea53', 2, 0, 1000, 2000, 15, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'e83da50b-4c42-4895-ac86-5c40219ffe9b.parquet', 0, NULL),
('01a20108-9bcb-75d7-a38e-9ab1a24e70bd', 2, 0, 1728000000000000000, 1728000000000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '4fc62c48-24dc-4f7a-9cfe-1bd688f8813e.parquet', 0, NULL),
('01a20108-9bcb-7609-8ca1-64f0f91807b8', 2, 0, 1728000001000000000, 1728000001000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'f6240567-7b5a-40bd-9f0b-6485cf53e1dc.parquet', 0, NULL),
('01a20108-9bcb-7614-9f5d-60c2ab61a740', 2, 0, 1728000002000000000, 1728000002000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '170cbf69-dfdc-4eff-a0e3-bf15afe29400.parquet', 0, NULL),
('01a20108-9bcb-761c-b16a-b4c52a666990', 2, 0, 1728000003000000000, 1728000003000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'ddfae3ac-e6ff-4399-a772-e88e8e402076.parquet', 0, NULL),
('01a20108-9bcb-7623-ae3f-d0443169d872', 2, 0, 1728000004000000000, 1728000004000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '5a5a16f6-4687-4c8d-8188-f485f2b75dbf.parquet', 0, NULL),
('01a20108-9bcb-762b-981c-163beeb02f8f', 2, 0, 1728000005000000000, 1728000005000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '1142a955-8d27-418f-a0bc-2988d64cd196.parquet', 0, NULL),
('01a20108-9bcb-7634-aca5-441d2dbe95ba', 2, 0, 1728000006000000000, 1728000006000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '0dd3dd0b-d823-44f8-ab3b-86308c962255.parquet', 0, NULL),
('01a20108-9bcb-763b-9771-f1793bf88e2b', 2, 0, 1728000007000000000, 1728000007000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '2f20f41c-0758-429a-812c-dff5625a790f.parquet', 0, NULL),
('01a20108-9bcb-7642-a377-e13237ca3821', 2, 0, 1728000008000000000, 1728000008000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'c15115f9-5bd5-48ca-8648-f5bf264dda50.parquet', 0, NULL),
('01a20108-9bcb-764a-8e1f-eb2f5414c7e3', 2, 0, 1728000009000000000, 1728000009000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'c8f5c55c-3d11-4f7d-bc23-13e6a54d5c94.parquet', 0, NULL),
('01a20108-9bcb-7651-a1b8-de33c2d6ff48', 2, 0, 1728000010000000000, 1728000010000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '6b36d709-4315-4ce1-8e98-908c277078b7.parquet', 0, NULL),
('01a20108-9bcb-7658-9acf-005913024104', 2, 0, 1728000011000000000, 1728000011000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'db636cde-a471-4af9-8c9b-62bb56b6c9d1.parquet', 0, NULL),
('01a20108-9bcb-765f-bc2f-0c2abeeda1b5', 2, 0, 1728000012000000000, 1728000012000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '89167aec-3662-46d7-b0f7-00b9014ba240.parquet', 0, NULL),
('01a20108-9bcb-7666-a438-42d6db729bee', 2, 0, 1728000013000000000, 1728000013000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '6b49075e-6a31-43cd-ae0d-f4aa84c91a14.parquet', 0, NULL),
('01a20108-9bcb-766c-a99d-395ebad7cbbd', 2, 0, 1728000014000000000, 1728000014000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'fd86e516-c444-42ee-bce2-60bf39265dbf.parquet', 0, NULL),
('01a20108-9bcb-7673-a3fc-8d9994e5120d', 2, 0, 1728000015000000000, 1728000015000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '81e6d271-5b34-49ca-984b-a0fcb0da97f2.parquet', 0, NULL),
('01a20108-9bcb-767a-8b00-deed404cb2f6', 2, 0, 1728000016000000000, 1728000016000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '2166071a-6fd1-4ada-941e-c39b133bbb6b.parquet', 0, NULL),
('01a20108-9bcb-7681-99dd-411e6eeae897', 2, 0, 1728000017000000000, 1728000017000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '39126c01-2758-47f2-9d34-a981163b987d.parquet', 0, NULL),
('01a20108-9bcb-7687-8033-d1ee9e2ea36f', 2, 0, 1728000018000000000, 1728000018000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'd1342702-abf5-456c-94ce-9dbc581b3ac7.parquet', 0, NULL),
('01a20108-9bcb-768e-b8ff-266cb61c1c16', 2, 0, 1728000019000000000, 1728000019000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'd0341248-00cc-40be-8644-896dfc1c7793.parquet', 0, NULL),
('01a20108-9bcb-7695-8a36-7e2ef4bb2e1f', 2, 0, 1728000020000000000, 1728000020000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '10527354-17bd-426f-9a4b-d42387990216.parquet', 0, NULL),
('01a20108-9bcb-769c-8624-6d976390bb2d', 2, 0, 1728000021000000000, 1728000021000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'ead3be43-afdb-4659-b024-c03418a7c446.parquet', 0, NULL),
('01a20108-9bcb-76a3-9094-5d994660bcf3', 2, 0, 1728000022000000000, 1728000022000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '86a79338-62f2-4e4b-9154-a1b17918d1bb.parquet', 0, NULL),
('01a20108-9bcb-76a9-9395-b48c7a06748e', 2, 0, 1728000023000000000, 1728000023000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'ab34bb04-fbee-45cf-9450-a53234c79e59.parquet', 0, NULL),
('01a20108-9bcb-76b0-9739-1a658c2c1339', 2, 0, 1728000024000000000, 1728000024000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '890ed83d-532d-4409-85e8-a42d525314a1.parquet', 0, NULL),
('01a20108-9bcb-76b7-b279-d8d6ac578188', 2, 0, 1728000025000000000, 1728000025000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '0e4d6d2b-fdce-4879-8c19-5d1b74805efb.parquet', 0, NULL),
('01a20108-9bcb-76be-8710-e6f53d4df25a', 2, 0, 1728000026000000000, 1728000026000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '548a8156-4e5b-4d8d-bd87-c95a6cff8c4b.parquet', 0, NULL),
('01a20108-9bcb-76c4-82a8-1d11d9e64622', 2, 0, 1728000027000000000, 1728000027000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '77fc101f-e21f-4ff4-ae63-7a0e80f7e604.parquet', 0, NULL),
('01a20108-9bcb-76cb-894c-cd9ad4cfe287', 2, 0, 1728000028000000000, 1728000028000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', 'e71e27f2-c6c1-46e0-ab7c-7b1f24327177.parquet', 0, NULL),
('01a20108-9bcb-76d2-bb36-f5cad40ff53a', 2, 0, 1728000029000000000, 1728000029000000000, 18, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-991a-792f-8c91-6c2206629ea5/merged', '6afabef8-03ba-472e-83ee-0b75dff44b52.parquet', 0, NULL),
('01a20108-9be1-7416-99b0-c629bd8dad8d', 3, 0, 1728000000000000000, 1728000000000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', 'd16f84f7-dd18-470a-a4a8-8d3990e680ef.parquet', 0, NULL),
('01a20108-9be1-744e-9239-a57497b981aa', 3, 0, 1728000001000000000, 1728000001000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', 'e4723655-8c79-4c09-8651-a398296d20bf.parquet', 0, NULL),
('01a20108-9be1-7458-9ef1-9c4f76e168a4', 3, 0, 1728000002000000000, 1728000002000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '2f4d8669-23d1-4bfd-a33e-70356ed22df3.parquet', 0, NULL),
('01a20108-9be1-7460-b5ea-9bb5ed144584', 3, 0, 1728000003000000000, 1728000003000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '5bdba5f3-dd7b-4301-bb9b-58787c941731.parquet', 0, NULL),
('01a20108-9be1-7468-bb11-3dee119e3e67', 3, 0, 1728000004000000000, 1728000004000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '7b32f134-f8d1-4ff4-80cf-e2be6299a363.parquet', 0, NULL),
('01a20108-9be1-7470-9a02-b8dc82f9342c', 3, 0, 1728000005000000000, 1728000005000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '8f2b7e2a-80df-481d-9cbf-b8c7d2dee042.parquet', 0, NULL),
('01a20108-9be1-7477-b0ef-2559aa84ef9c', 3, 0, 1728000006000000000, 1728000006000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', 'ee95dd5f-63f6-443b-a37e-26fba69b8055.parquet', 0, NULL),
('01a20108-9be1-747e-a950-9fe525364f3e', 3, 0, 1728000007000000000, 1728000007000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '331f606e-a0b7-4c06-9e7c-f751d4c1db5c.parquet', 0, NULL),
('01a20108-9be1-7485-bbaf-aba6225aea72', 3, 0, 1728000008000000000, 1728000008000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '41ec9b27-9a4d-4f1c-ae84-570a838506d5.parquet', 0, NULL),
('01a20108-9be1-748c-aebe-cd07acec2e91', 3, 0, 1728000009000000000, 1728000009000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '9a7035ea-b7e9-4b2b-9804-ffddd647149a.parquet', 0, NULL),
('01a20108-9be1-7493-b86a-2c3a3efc9a9c', 3, 0, 1728000010000000000, 1728000010000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '70ebf5a2-8a47-412d-be0d-505a311d183e.parquet', 0, NULL),
('01a20108-9be1-7499-80e5-c7be21dfb190', 3, 0, 1728000011000000000, 1728000011000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '892b2848-e0ec-4723-87bb-4f14f594ddfd.parquet', 0, NULL),
('01a20108-9be1-74a0-9934-0dffc31ca29e', 3, 0, 1728000012000000000, 1728000012000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '2f2da6b6-6e38-4fc8-bcda-0542080011e0.parquet', 0, NULL),
('01a20108-9be1-74a8-858e-710cbd8af4af', 3, 0, 1728000013000000000, 1728000013000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '43f14505-2a1c-4688-8291-ae3ea26d9dd5.parquet', 0, NULL),
('01a20108-9be1-74af-ae8c-4472ad11a414', 3, 0, 1728000014000000000, 1728000014000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '022f9f30-9618-49ca-97c1-e4da9976d23f.parquet', 0, NULL),
('01a20108-9be1-74b6-aa72-d7d77a853ff0', 3, 0, 1728000015000000000, 1728000015000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '1f1d6342-68fd-4fd9-acf4-2779bd195f9e.parquet', 0, NULL),
('01a20108-9be1-74bc-b931-4b1e82693c63', 3, 0, 1728000016000000000, 1728000016000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', 'bc259f6c-f72d-422b-91d3-3299524c30e9.parquet', 0, NULL),
('01a20108-9be1-74c4-9a09-6bf6f6ea7c0a', 3, 0, 1728000017000000000, 1728000017000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', 'a69a233f-6713-4d81-b090-0d97671d86a9.parquet', 0, NULL),
('01a20108-9be1-74cb-9e8c-ec9f45b495de', 3, 0, 1728000018000000000, 1728000018000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '2a3ff510-80b7-4e05-82e5-ebbd28d69202.parquet', 0, NULL),
('01a20108-9be1-74d1-9b2d-cbe5acb4be6d', 3, 0, 1728000019000000000, 1728000019000000000, 19, NULL, NULL, now(), 5000, 1000, 10, 'dataset/01a20108-9931-775a-b68e-9d31fac211d4/merged', '72b837d1-3197-4e98-9970-cf279f3609ea.parquet', 0, NULL),
('01a20108-9bef-7de1-b4f2-dba00afb7479', 4, 0, 1728000000000000000, 1728000000000000000, 20, 21, now(), now(), 5000, 1000, 10, 'dataset/01a20108-993c-70c6-8c96-fb84d420b0ca/merged', '70ed7680-ff16-4104-8f29-63fcd9b8672d.parquet', 0, NULL),
('01a20108-9bef-7e13-9c86-68697fa1e9f3', 4, 0, 1728000001000000000, 1728000001000000000, 20, 21, now(), now(), 5000, 1000, 10, 'dataset/01a20108-993c-70c6-8c96-fb84d420b0ca/merged', '49b58a4f-e1c3-417a-a400-717d46b5faa0.parquet', 0, NULL),
('01a20108-9bef-7e1e-a75d-fd1a01294d70', 4, 0, 1728000002000000000, 1728000002000000000, 20, 21, now(), now(), 5000, 1000, 10, 'dataset/01a20108-993c-70c6-8c96-fb84d420b0ca/merged', '40471fa4-a80c-4d09-b4b6-f74d5ab8d079.parquet', 0, NULL),
('01a20108-9ca9-72be-95e4-5c3d8bfbc03e', 4, 1, 1728000000000000000, 1728000002000000000, 21, NULL, NULL, now(), 15000, 3000, 30, 'dataset/01a20108-993c-70c6-8c96-fb84d420b0ca/merged/01a20108-9c45-79a0-b8c6-1417638e4c7c-1', 'out.parquet', 1, NULL);
INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, merged_ingest_time_nanos, base_offset, created_at, changed_version) OVERRIDING SYSTEM VALUE VALUES
('01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-991a-792f-8c91-6c2206629ea5', 4, 7000000000, -1, now(), 15),
('01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-9931-775a-b68e-9d31fac211d4', 3, 7000000000, -1, now(), 13),
('01a20108-9a82-7f93-b279-c439becfced1', '01a20108-991a-792f-8c91-6c2206629ea5', 1, 7000000000, -1, now(), 15),
('01a20108-9a82-7f93-b279-c439becfced1', '01a20108-9931-775a-b68e-9d31fac211d4', -1, 0, -1, now(), 10);
INSERT INTO stream_heads (stream_id, committed_offset, last_activity_at, is_stopped, is_pending, removal_count) OVERRIDING SYSTEM VALUE VALUES
('01a20108-99e5-76ea-9105-e5e47202c1e8', 5, now(), 'false', 'true', 0),
('01a20108-9a82-7f93-b279-c439becfced1', 2, now(), 'true', 'true', 0);
INSERT INTO stream_tokens (stream_id, token_id, registered_at, revoked_offset) OVERRIDING SYSTEM VALUE VALUES
('01a20108-99e5-76ea-9105-e5e47202c1e8', '01a20108-9962-7ada-ad8e-6afc325be985', now(), NULL),
('01a20108-9a82-7f93-b279-c439becfced1', '01a20108-9962-7ada-ad8e-6afc325be985', now(), NULL);
INSERT INTO dataset_visibility (dataset_key, from_version, to_version) OVERRIDING SYSTEM VALUE VALUES
(1, 1, NULL),
(2, 2, NULL),
(3, 3, NULL),
(4, 4, 22);
INSERT INTO ingest_tokens (id, name, digest, hint, logs_dataset_id, traces_dataset_id, metrics_dataset_id, created_at, revoked_at, changed_version) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9962-7ada-ad8e-6afc325be985', 'frontend', E'\\x0f37aeb7e06284ab01e7f9af4eaa6bf3b1c08facd72bdf68fa98c719024a315e', '1cRQ', '01a20108-991a-792f-8c91-6c2206629ea5', '01a20108-9931-775a-b68e-9d31fac211d4', '01a20108-991a-792f-8c91-6c2206629ea5', now(), NULL, 6),
('01a20108-99ba-773e-9a8e-3a5e85b3bbb6', 'retired', E'\\x1198e1049b04ced6f73db97b0103e437dae262f81eacb07bc71a69ecb615628c', 'viMQ', '01a20108-993c-70c6-8c96-fb84d420b0ca', '01a20108-993c-70c6-8c96-fb84d420b0ca', '01a20108-993c-70c6-8c96-fb84d420b0ca', now(), now(), 8);
INSERT INTO projections (id, name, projection, schema_id, created_at) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9d32-74af-8f0b-e7857352c15e', 'all', '*', '01a20108-9d24-781f-9115-9362b45adbd8', now());
INSERT INTO schema_columns (schema_id, position, name, type) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9d24-781f-9115-9362b45adbd8', 0, 'status', 1);
INSERT INTO views (id, name, description, schema_id, created_at) OVERRIDING SYSTEM VALUE VALUES
('01a20108-9d2c-7975-8222-87b16ff5e3e2', 'errors', NULL, '01a20108-9d24-781f-9115-9362b45adbd8', now());
