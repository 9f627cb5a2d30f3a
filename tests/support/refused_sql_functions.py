"""Functions of the pinned DuckDB that a query in SQL may not call.

They see or change more than the rows of a query: files, settings, the catalog, the session, text
that is run as SQL. Others DuckDB calls by itself.
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


REFUSED_ROW_FUNCTIONS = _names(
    """
    __cast __internal_barrier __internal_compress_geometry_point
    __internal_compress_integral_ubigint __internal_compress_integral_uinteger
    __internal_compress_integral_usmallint __internal_compress_integral_utinyint
    __internal_compress_string_hugeint __internal_compress_string_ubigint
    __internal_compress_string_uhugeint __internal_compress_string_uinteger
    __internal_compress_string_usmallint __internal_compress_string_utinyint
    __internal_compressed_materialization_cast __internal_decompress_geometry_point
    __internal_decompress_integral_bigint __internal_decompress_integral_hugeint
    __internal_decompress_integral_integer __internal_decompress_integral_smallint
    __internal_decompress_integral_ubigint __internal_decompress_integral_uhugeint
    __internal_decompress_integral_uinteger __internal_decompress_integral_usmallint
    __internal_decompress_string __internal_json_copy_to_geojson __internal_json_copy_to_json
    __internal_tablefilter_bloom_filter __internal_tablefilter_dynamic
    __internal_tablefilter_optional __internal_tablefilter_prefix_range
    __internal_tablefilter_selectivity_optional bitstring_byte_comparable cast_to_type
    col_description combine combine_aggr constant_or_null create_sort_key current_connection_id
    current_query current_query_id current_schemas current_setting current_transaction_id
    currval decimal_average finalize format_pg_type format_type get_block_size get_type
    getvariable has_any_column_privilege has_column_privilege has_database_privilege
    has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege
    has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege
    has_tablespace_privilege hive_partition_component in_search_path index_key inet_client_addr
    inet_client_port inet_server_addr inet_server_port invoke is_histogram_other_bin
    json_copy_strftime_if_date json_copy_strftime_if_timestamp json_deserialize_sql
    json_serialize_plan json_serialize_sql make_type map_to_pg_oid nextval obj_description
    parse_duckdb_log_message pg_collation_is_visible pg_conf_load_time pg_conversion_is_visible
    pg_function_is_visible pg_get_constraintdef pg_get_expr pg_get_viewdef pg_has_role
    pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible pg_operator_is_visible
    pg_opfamily_is_visible pg_postmaster_start_time pg_sleep pg_table_is_visible
    pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible
    pg_ts_template_is_visible pg_type_is_visible remap_struct replace_type setseed setval
    shobj_description sleep_ms stats timetz_byte_comparable to_aggregate_state txid_current
    variant_bytes_to_variant variant_comparator variant_to_parquet_variant vector_type write_log
    """
)
REFUSED_TABLE_FUNCTIONS = _names(
    """
    arrow_scan arrow_scan_dumb checkpoint create_external_resource deregister_external_resource
    destroy_external_resource disable_logging disable_profiling duckdb_approx_database_count
    duckdb_available_metrics duckdb_columns duckdb_connection_count duckdb_constraints
    duckdb_coordinate_systems duckdb_databases duckdb_dependencies duckdb_dialects
    duckdb_eviction_queues duckdb_extension_repositories duckdb_extensions
    duckdb_external_file_cache duckdb_external_resource_types duckdb_external_resources
    duckdb_functions duckdb_grammar_extensions duckdb_indexes duckdb_keywords
    duckdb_log_contexts duckdb_logs duckdb_logs_parsed duckdb_memory duckdb_optimizers
    duckdb_prepared_statements duckdb_profiling_settings duckdb_schemas
    duckdb_secret_type_parameters duckdb_secret_types duckdb_secrets duckdb_sequences
    duckdb_settings duckdb_table_sample duckdb_tables duckdb_temporary_files duckdb_triggers
    duckdb_types duckdb_variables duckdb_views enable_logging enable_profiling force_checkpoint
    glob histogram histogram_values icu_calendar_names json_execute_serialized_sql pandas_scan
    parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata
    parquet_metadata parquet_scan parquet_schema pg_timezone_names pragma_collations
    pragma_database_size pragma_metadata_info pragma_platform pragma_show pragma_storage_info
    pragma_table_info pragma_user_agent pragma_version python_arrow_scan python_map_function
    query query_table read_blob read_csv read_csv_auto read_duckdb read_json read_json_auto
    read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects
    read_parquet read_single_csv_file read_single_json_file read_single_parquet_file read_text
    register_external_resource register_external_resource_type seq_scan sniff_csv summary
    test_all_types test_vector_types truncate_duckdb_logs which_secret
    """
)
